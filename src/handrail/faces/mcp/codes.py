"""Why a face can say no before the engine is asked: about the call and the project."""

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "form": "the arguments are none of the forms that a call has",
    "no_project": "the server was started where there is no project, and given none",
    "which_project": "the server has several projects, and the call names none, or more than one",
    "unknown_project": "the server was not started with that project",
    "forbidden": "the token that was shown does not have the scope that the call needs",
    "internal": "Handrail failed; its log tells more under the number of the incident",
}
"""Every code of such a refusal; `arguments` is the engine's word too."""

SESSIONS: Mapping[str, str] = {
    "session_name": "no session can be called so",
    "unknown_session": "the project has no session of that name, and this call begins none",
    "other_graph": "a session keeps the skill graph that it began with",
    "unfit_graph": "the workflow is no skill graph for sessions",
}
"""Every code of a refusal that is about a session of skills."""
