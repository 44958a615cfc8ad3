"""Many processes at the face over one SQLite file. Run as a program: `python -m helpers.server_crowd …`.

The words are the folder of the place, a run, its last revision, and how many processes there are. It forks
while it has one thread and nothing open; all children begin at once, and each tells one JSON value.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Final

from handrail.runtime.tokens import TokenClaims, decode_token
from helpers.servers import Place, inside
from helpers.sqlite_crowd import Told, together

ROUND: Final = """
workflow: round
version: 1
authority: sql
about: There and back, until somebody is done
steps:
  - name: there
    agent: implementer
    task: Go.
    contract: {schema: {properties: {done: {type: boolean}}, required: [done]}}
  - name: back
    agent: implementer
    task: Come.
    contract: {schema: {properties: {done: {type: boolean}}, required: [done]}}
    next:
      - {accept: ["!output.done"], to: there}
      - {accept: [output.done]}
"""


def contending(at: Place, run: str, last: int, number: int) -> Told:
    """One of many that move the same run with its tokens, until it has come to its last revision."""
    accepted, refused = list[int](), list[str]()
    with inside(at) as desk:
        told = desk.recover(run)
        while not told.failed:
            claims = decode_token(desk.app.world.key, told.token)
            assert isinstance(claims, TokenClaims)
            if claims.revision >= last:
                break
            told = desk.go_on(told.token, done=False, artifacts=[], summary=f"By {number}.")
            if told.failed:
                refused.append(told.code)
                told = desk.recover(run)
            else:
                accepted.append(claims.revision)
    return {"accepted": accepted, "refused": refused, "last": told.code}


if __name__ == "__main__":
    folder, of, until, count = sys.argv[1:]
    work = partial(contending, Place(Path(folder)), of, int(until))
    sys.stdout.write(json.dumps(together(int(count), work)))
