"""What commands end with. Scripts go by these numbers, so one means one thing whatever the command.

0 is done. A process that was ended by a signal ends with 128 and its number.
"""

from __future__ import annotations

FAILED = 1
WRONG_USE = 2  # click's own number for a call that it cannot read
# Verdicts, of commands that give one: neither a failure nor a wrong call may be taken for them.
MAY_NOT_SHIP, CANNOT_TELL = 3, 4
