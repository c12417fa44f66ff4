"""Running: one study's loop (`loop`), a whole plan in this process (`local`), facts of a machine (`environment`)."""
