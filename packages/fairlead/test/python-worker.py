"""A worker of the Python client, as the tests start it. It says on standard output what its handlers do."""

import logging
import sys

from fairlead import Client, Completion, PermanentError, RetryAfter, Worker

logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
url, provider, grace = sys.argv[1], sys.argv[2], float(sys.argv[3])
worker = Worker(Client(url), provider, worker_id=sys.argv[4], concurrency=4, grace=grace)


def say(text):
    print(text, flush=True)


@worker.task("value")
def value(data, job):
    return {
        "text": "grüße 🎉",
        "bytes": bytes([0, 255, 16]),
        "json": {"list": [1, 2.5, None, True], "of": data},
        "number": 17,
        "nothing": None,
        "csv": Completion("a,b", content_type="text/csv", meta={"rows": 1}, actual_units=3),
        "nan": [{"x": float("nan")}],
        "set": {"a": {1}},
    }[data["what"]]


@worker.task("raise")
def fail(data, job):
    try:
        {}["absent"]
    except KeyError as error:
        raise ValueError("no such thing: ü") from error


@worker.task("permanent")
def permanent(data, job):
    raise PermanentError("invalid_input", "the width is negative")


@worker.task("later")
def later(data, job):
    raise RetryAfter(3600)


@worker.task("async")
async def coroutine(data, job):
    return f"attempt {job.attempt} of {job.name}"


@worker.task("hold")
def hold(data, job):
    """Goes on when a line comes in, or when it is told to stop."""
    say(f"holds attempt {job.attempt}")
    sys.stdin.readline()
    job.confirm()
    return f"done at attempt {job.attempt}"


@worker.task("until-lost")
def until_lost(data, job):
    say("waits")
    job.lost.wait()
    say(f"lost: {job.lost_reason}")


@worker.on("ai", model="echo")
def echo(data, job):
    return b"You said: " + data["prompt"]


worker.run()
say("has ended")
