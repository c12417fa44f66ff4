"""Running: one study's loop (`loop`), a whole plan in this process (`local`), and the facts of a machine (`environment`)."""
