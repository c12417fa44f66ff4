"""What people look at: tables for papers, figures, one page. Nothing here computes a score."""
