"""`python -m optarena`: the command line, for where its program is not on the path."""

import sys

from optarena.cli import main

sys.exit(main())
