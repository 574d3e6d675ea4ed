"""Banks from other people's data: tables with a mapping, and public data sets by their layout.

Public: `import_bank`, `Request`, `Imported`, `Tally`, `LAYOUTS`, `LEFT_OUT`, `REMARKS`,
`parse_mapping`.

Rows come from `sources`, an importer (a module a layout, or `mapping`) makes drafts of them,
`checking` makes questions of the drafts and counts into `tally` what is wrong, `importer` writes
the files.
"""

from ragevalkit.bank.importing.importer import Imported, Request, import_bank
from ragevalkit.bank.importing.layouts import LAYOUTS
from ragevalkit.bank.importing.mapping import parse_mapping
from ragevalkit.bank.importing.tally import LEFT_OUT, REMARKS, Tally

__all__ = [
    "LAYOUTS",
    "LEFT_OUT",
    "REMARKS",
    "Imported",
    "Request",
    "Tally",
    "import_bank",
    "parse_mapping",
]
