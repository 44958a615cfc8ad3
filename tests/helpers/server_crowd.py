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
from helpers.servers import Place, open_in_process
from helpers.sqlite_crowd import ProcessReport, run_together

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


def contend_for_run(at: Place, run: str, last: int, number: int) -> ProcessReport:
    """One of many that move the same run with its tokens, until it has come to its last revision."""
    accepted, refused = list[int](), list[str]()
    with open_in_process(at) as client:
        answer = client.recover(run)
        while not answer.failed:
            claims = decode_token(client.app.world.key, answer.token)
            assert isinstance(claims, TokenClaims)
            if claims.revision >= last:
                break
            answer = client.continue_run(answer.token, done=False, artifacts=[], summary=f"By {number}.")
            if answer.failed:
                refused.append(answer.code)
                answer = client.recover(run)
            else:
                accepted.append(claims.revision)
    return {"accepted": accepted, "refused": refused, "last": answer.code}


if __name__ == "__main__":
    folder, of, until, count = sys.argv[1:]
    work = partial(contend_for_run, Place(Path(folder)), of, int(until))
    sys.stdout.write(json.dumps(run_together(int(count), work)))
