"""An archive: a directory of bundles, each a store that explains itself to strangers and can be checked by them.

archive/index.html              what is here, one line per bundle
archive/<name>/bundle.json      what it is: experiments, problems, versions, counts, the answer
archive/<name>/store/           the store, compacted
archive/<name>/evaluations.parquet   every evaluation as a table, for other tools
archive/<name>/report.html
archive/<name>/SHA256SUMS       of all the others; `sha256sum -c SHA256SUMS` checks them, too
"""

from optarena.archive.bundle import Bundle, bundles_in, is_archive
from optarena.archive.checking import Checked, check_bundle
from optarena.archive.publishing import publish

__all__ = ["Bundle", "Checked", "bundles_in", "check_bundle", "is_archive", "publish"]
