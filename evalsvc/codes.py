"""Every stable error code of the API: its HTTP status, its title, and what the caller can do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One row of docs/errors.md."""

    code: str
    status: int
    title: str
    remedy: str


PROBLEMS = {
    row.code: row
    for row in (
        Code("malformed_json", 400, "The body is not JSON", "Send one valid UTF-8 JSON object."),
        Code(
            "bad_request", 400, "The request cannot be read", "Check the request line, the headers and the host name."
        ),
        Code(
            "request_timeout",
            408,
            "The request came too slowly",
            "Send it again, without pauses: headers within 10 s, the body at 8 kB a second or more.",
        ),
        Code("uri_too_long", 414, "The address is too long", "Send what is long in a body."),
        Code("expectation_failed", 417, "The header Expect asks for what is not offered", "Leave `Expect` out."),
        Code("headers_too_large", 431, "The headers are too large", "Send fewer or shorter headers and cookies."),
        Code(
            "transfer_coding_unsupported",
            501,
            "The Transfer-Encoding is not known",
            "Send `Transfer-Encoding: chunked`, or a `Content-Length`.",
        ),
        Code(
            "unauthenticated",
            401,
            "No valid API key",
            "Send a live key as `X-API-KEY: ek_…` or `Authorization: Bearer ek_…`.",
        ),
        Code(
            "https_required",
            403,
            "Plain http is refused",
            "Use https, or start with EVALSVC_REQUIRE_HTTPS=0 on a private machine.",
        ),
        Code("read_only_key", 403, "This key may only read", "Use a key with scope `write`."),
        Code("forbidden", 403, "Not allowed", "Ask an admin of the account for the role this needs."),
        Code(
            "account_off",
            403,
            "The account is switched off",
            "Ask the operator to switch it on again. Nothing of it is lost, and its work goes on then.",
        ),
        Code("not_found", 404, "Nothing here", "Check the id; objects of other accounts do not exist for this key."),
        Code(
            "method_not_allowed",
            405,
            "This address does not take that method",
            "See /v1/openapi.json for the methods of each address.",
        ),
        Code(
            "in_progress",
            409,
            "The first request with this Idempotency-Key is still running",
            "Repeat the same request after Retry-After seconds.",
        ),
        Code(
            "export_running",
            409,
            "An export is under way already",
            "Wait for its end, or for Retry-After seconds, and ask again.",
        ),
        Code(
            "lease_lost",
            409,
            "The lease does not hold any more, or never did",
            "Ask for the next item. What was answered with an older lease before it ended is kept.",
        ),
        Code(
            "already_answered",
            409,
            "Another answer is kept under this lease",
            "Leave it, or send the new one with `revise`; the one before is kept beside it.",
        ),
        Code("review_closed", 409, "The review is closed", "Nobody can answer it any more; make another one."),
        Code(
            "changed_meanwhile",
            409,
            "It has changed since you looked",
            "Look at it as it is now, and make the change again. Nothing was kept.",
        ),
        Code(
            "not_finished",
            409,
            "The experiment is still under way",
            "Stop its configs, or wait until `state` is `done`, and ask again.",
        ),
        Code(
            "drifted",
            409,
            "What a benchmark measures by has changed since it was frozen",
            "Make a new benchmark, or say `allow_drift`: the execution then tells what has changed.",
        ),
        Code(
            "imported",
            409,
            "What came in as a bundle does not go on here",
            "Clone the config: the clone is yours, and runs.",
        ),
        Code("body_too_large", 413, "The body is too large", "Send less text per request, or split it into several."),
        Code(
            "unsupported_media_type", 415, "The body's type is not accepted", "Send `Content-Type: application/json`."
        ),
        Code("validation_failed", 422, "Some fields cannot be accepted", "Correct each field that `errors` points to."),
        Code(
            "filter_required",
            422,
            "Nothing says what to delete",
            "Name at least one filter: a call without any would delete everything.",
        ),
        Code(
            "search_too_slow",
            422,
            "No index serves this search, and there is too much to look through",
            "Add a filter on an indexed field (`evaluator_id`, `criteria`, `app`, `project_id`, `experiment_id`, "
            "`dataset_id`, `log_id`, `trace_id`), or a window of `created_at`.",
        ),
        Code(
            "unrunnable",
            422,
            "An evaluator of this call cannot run, and the account wants such calls refused",
            "Set up or correct what `errors` name, or leave it out. The account's `refuse_unrunnable` decides.",
        ),
        Code("already_exists", 422, "This name is taken", "Choose another name, or revise the existing object."),
        Code(
            "in_use",
            422,
            "Something else holds on to this object",
            "Delete what the detail names first, or keep the object.",
        ),
        Code(
            "stale_epoch",
            422,
            "The config has changed since you looked",
            "Read its present `epoch`, look again, and repeat the operation if it is still wanted.",
        ),
        Code(
            "idempotency_key_reused",
            422,
            "This Idempotency-Key belongs to another request",
            "Use a new key for a new request.",
        ),
        Code(
            "too_many_requests",
            429,
            "The account's request limit is reached",
            "Wait Retry-After seconds, or ask the operator for a higher limit.",
        ),
        Code(
            "internal_error",
            500,
            "Something broke on our side",
            "Retry; if it stays, give the operator the request_id.",
        ),
        Code(
            "not_implemented",
            501,
            "This service does not do that",
            "Do without it; docs/patronus.md says what differs.",
        ),
        Code("unavailable", 503, "A part of the service is down", "Retry after a few seconds."),
    )
}

# Codes inside a result of /v1/evaluate. The request itself succeeded, so the status is 200: only this evaluator failed.
EVALUATION_ERRORS = {
    row.code: row
    for row in (
        Code(
            "unknown_evaluator",
            200,
            "No evaluator has this id or alias",
            "GET /v1/evaluators lists what this account can run.",
        ),
        Code(
            "evaluator_disabled",
            200,
            "The account has switched this evaluator off",
            "Switch it on in the admin, or use another.",
        ),
        Code(
            "unknown_profile",
            200,
            "No profile has this name for that evaluator's family",
            "GET /v1/evaluator-criteria lists the profiles.",
        ),
        Code(
            "unknown_config",
            200,
            "The experiment has no config of this id or name",
            "GET /v1/experiments/{id}/configs lists them; without `config` every live one is shown.",
        ),
        Code("profile_required", 200, "This family has no default profile", "Name one in `criteria`."),
        Code(
            "invalid_settings",
            200,
            "The evaluator cannot run the settings written into the request",
            "Correct `profile_inline` as the message says.",
        ),
        Code(
            "missing_input",
            200,
            "A field that the evaluator needs was not sent",
            "Send the fields that the message names.",
        ),
        Code(
            "wrong_type",
            200,
            "A field holds what the evaluator cannot read",
            "Send the field as the message says, or point the metric at the part that is meant.",
        ),
        Code(
            "input_too_long",
            200,
            "The text is longer than this evaluator reads, or than it can compute in time",
            "Send less text, or make the evaluator's settings simpler: patterns with smaller counted repetitions.",
        ),
        Code(
            "unsupported_input",
            200,
            "The evaluator cannot read what is attached to a field that it reads",
            "Leave the attachment out, or use an evaluator that does not read the field. PNG, JPEG and WebP are read "
            "by `judge-image`, WAV and MP3 by `judge-audio`, all by `judge-mm`, with a connection marked for it.",
        ),
        Code(
            "attachment_failed",
            200,
            "An attachment cannot be fetched, is too large, or is not what its media type says",
            "Send what the message names: a public URL, at most 5 MiB, with the right media type.",
        ),
        Code(
            "unsupported_language",
            200,
            "The evaluator does not serve this language",
            "Ask a model of yours through a connection: `judge`, `toxicity-moderation`, `pii-judge`, or the evaluator "
            "of the same family whose name ends in `-judge`. They read the languages that it reads.",
        ),
        Code(
            "not_applicable",
            200,
            "The metric has no value for this sample, or needs what the dataset does not have",
            "Leave it out of a mean: it is neither 0 nor an error of yours. Experiments count it in `n_na`.",
        ),
        Code(
            "undecided",
            200,
            "The evaluator has a score and no verdict: to pass or to fail the output would be a guess",
            "It is neither 0 nor 1 in a pass rate: experiments count it in `rows.n_undecided`. With the setting "
            "`undecided` of the profile, `pass` or `fail`, it counts so.",
        ),
        Code(
            "unmapped",
            200,
            "What an experiment's metric looks for is not in the answer",
            "Correct `sample`, `source` or `denominator` as the message says; a clone or a new experiment takes it.",
        ),
        Code(
            "not_configured", 200, "The evaluator needs something that is not set up", "Set up what the message names."
        ),
        Code(
            "webhook_rejected",
            200,
            "The account's own server turned the request down",
            "See what the server has against it; a wrong signature is the usual reason.",
        ),
        Code(
            "refused",
            200,
            "The judge, or the server behind it, does not answer for this text",
            "Send another text, or use another model.",
        ),
        Code(
            "budget_exhausted",
            200,
            "The money for the judge is spent",
            "Raise the connection's daily budget or the quota at its endpoint, or wait for the next day.",
        ),
        Code(
            "rate_limited",
            200,
            "The judge was not free in time",
            "Retry later, or raise the connection's limits or those of its endpoint.",
        ),
        Code(
            "timeout",
            200,
            "The judge or webhook did not answer in time",
            "Retry; if it stays, raise `timeout_seconds` of the profile or the connection.",
        ),
        Code(
            "connection",
            200,
            "The judge or webhook could not be reached, or is in trouble",
            "Retry later; test the connection on its page.",
        ),
        Code(
            "bad_output",
            200,
            "The judge or webhook answered with something else than was asked for",
            "Retry; if it stays, use a model that can answer in JSON, or mend the webhook.",
        ),
        Code(
            "evaluator_failed",
            200,
            "The evaluator broke on this sample",
            "Retry; if it stays, give the operator the request_id.",
        ),
        Code(
            "worker_lost",
            200,
            "Workers died several times on this sample",
            "Send less text; give the operator the request_id.",
        ),
    )
}
