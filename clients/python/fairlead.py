"""A client and a worker for a Fairlead server over HTTP.

One file for Python 3.9 and later, without dependencies: copy it into your project. README.md beside it
shows how to use it. Times are in seconds, except where a field of the wire says milliseconds in its name.
"""

from __future__ import annotations

import http.client
import inspect
import json
import logging
import math
import os
import queue
import random
import re
import secrets
import signal
import ssl
import threading
import time
import traceback
from typing import Any, Callable, Iterable, Mapping, Optional
from urllib.parse import urlsplit

__all__ = [
    "Client",
    "Completion",
    "FairleadError",
    "Job",
    "PermanentError",
    "Result",
    "RetryAfter",
    "Worker",
]

log = logging.getLogger("fairlead")


class FairleadError(Exception):
    """A refusal, or a server that does not answer. Branch on `code`, never on the message."""

    def __init__(
        self,
        code: str,
        message: str,
        details: Optional[Mapping[str, Any]] = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})
        self.retryable = retryable


class PermanentError(Exception):
    """Raised by a handler, it ends the job for good: no other attempt could succeed.

    With one of the codes `invalid_input`, `validation_error`, `sold_out`, `not_found` and `auth_error` it is
    the job's own fault, and the provider does not pay for it.
    """

    def __init__(self, code: str, message: Optional[str] = None) -> None:
        super().__init__(code if message is None else message)
        self.code = code


class RetryAfter(Exception):
    """Raised by a handler, it asks for the next attempt not to begin before so many seconds."""

    def __init__(
        self, seconds: float, message: Optional[str] = None, code: str = "retry_after"
    ) -> None:
        if not (isinstance(seconds, (int, float)) and 0 <= seconds < math.inf):
            raise ValueError(f"seconds: expected a number of at least 0, got {seconds!r}")
        super().__init__(f"try again in {seconds} s" if message is None else message)
        self.seconds = seconds
        self.code = code


class Completion:
    """Returned by a handler that has more to say than its output."""

    def __init__(
        self,
        value: Any = None,
        *,
        content_type: Optional[str] = None,
        meta: Optional[Mapping[str, Any]] = None,
        actual_units: Optional[int] = None,
        actual_tokens: Optional[int] = None,
    ) -> None:
        self.value = value
        self.content_type = content_type
        self.meta = meta
        self.actual_units = actual_units
        self.actual_tokens = actual_tokens


class Result:
    """The result of a job: the `value` that its handler returned, and the `record` of the server."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.record = record
        output = record.get("output")
        self.output: Optional[bytes] = None if output is None else _bytes_of(output)
        self.value = _value_of(self.output, record.get("content_type"))


# ---------------------------------------------------------------------------------------------------
# Values and their forms on the wire
# ---------------------------------------------------------------------------------------------------

TEXT, BYTES, JSON = "text/plain", "application/octet-stream", "application/json"
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json")
_KINDS = ("ai", "quantum", "task", "registration")
# The whole numbers that every reader of JSON tells apart.
_INT_MAX = 2**53 - 1
# The server takes no longer message (LIMITS-1).
_BODY_MAX = 2 * 1024 * 1024


def _hex_of(data: Any) -> str:
    return "0x" + bytes(data).hex()


def _bytes_of(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _value_of(output: Optional[bytes], content_type: Optional[str]) -> Any:
    """The value that a handler returned (RESULT-4). Bytes, where they are not what their type says."""
    if output is None:
        return None
    kind = (content_type or "").lower().split(";", 1)[0].strip()
    if kind.startswith("text/"):
        return output.decode("utf-8", "replace")
    if not _JSON_TYPE.fullmatch(kind):
        return output
    try:
        return json.loads(output.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return output


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _output_of(value: Any) -> "dict[str, Any]":
    """The output of a value that a handler returned (RESULT-1)."""
    if value is None:
        return {}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"output": _hex_of(value), "content_type": BYTES}
    content_type = TEXT if isinstance(value, str) else JSON
    try:
        if content_type == JSON:
            _check_json(value, "result")
        text = value if content_type == TEXT else json.dumps(value, ensure_ascii=False)
        return {"output": _hex_of(text.encode("utf-8")), "content_type": content_type}
    except UnicodeEncodeError as error:
        why = "result: expected text, got half a surrogate pair; return valid Unicode"
        raise PermanentError("output_not_serializable", why) from error
    except RecursionError as error:
        why = "result: expected a value that JSON can hold, got one that is too deep or has a cycle"
        raise PermanentError("output_not_serializable", why) from error
    except _NotJson as error:
        raise PermanentError("output_not_serializable", str(error)) from error


class _NotJson(Exception):
    pass


def _check_json(value: Any, path: str) -> None:
    """Refuses, with its place, whatever JSON would drop or change (RESULT-3)."""
    if value is None or isinstance(value, (bool, str)):
        return
    if isinstance(value, int):
        if abs(value) > _INT_MAX:
            expected = "a whole number of at most 2^53 - 1"
            raise _NotJson(f"{path}: expected {expected}, got a larger one; give it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _NotJson(f"{path}: expected a finite number, got {value}; give that or None")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise _NotJson(f"{path}: expected keys that are text, got {key!r}; give str(key)")
            _check_json(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_json(item, f"{path}[{index}]")
    else:
        got = type(value).__name__
        raise _NotJson(f"{path}: expected a value that can be written as JSON, got a {got}")


def _job_params(kind: str, payload: Any, options: Mapping[str, Any]) -> "dict[str, Any]":
    """A request as it goes over the wire: always with a key, so that it can be asked again."""
    if not isinstance(kind, str):
        raise _invalid("kind", "a kind of job or the name of a task", repr(kind))
    if kind not in _KINDS:
        kind, payload = "task", {"name": kind, "args": {} if payload is None else payload}
    if not isinstance(payload, Mapping):
        raise _invalid("payload", "an object", type(payload).__name__)
    payload = dict(payload)
    for field in ("prompt", "circuit") if kind in ("ai", "quantum") else ():
        value = payload.get(field)
        if isinstance(value, str):
            value = value.encode("utf-8")
        if isinstance(value, (bytes, bytearray, memoryview)):
            payload[field] = _hex_of(value)
    params = {name: value for name, value in options.items() if value is not None}
    if "idempotency_key" not in params and "tx_hash" not in params:
        params["idempotency_key"] = f"py-{secrets.token_hex(16)}"
    return {"kind": kind, "payload": payload, **params}


def _invalid(field: str, expected: str, got: str) -> FairleadError:
    return FairleadError("InvalidParams", f"{field}: expected {expected}, got {got}", {"field": field})


# ---------------------------------------------------------------------------------------------------
# Calls
# ---------------------------------------------------------------------------------------------------

# These do more when they happen twice.
_ONCE = frozenset(("aicf.stake", "aicf.unstake", "aicf.attest"))
# A server closes idle connections; one that was idle for longer is not used again.
_IDLE_SECS = 4.0
_ENQUEUE_AT_ONCE = 200
_ENQUEUE_BYTES = 1024 * 1024


def _delay(tries: int) -> float:
    """Twice as long each time up to 5 s, less a random part, so that those who failed together spread out."""
    return min(5.0, 0.05 * 2 ** min(tries, 20)) * (0.5 + random.random() / 2)


def _wait_of(error: FairleadError, tries: int) -> float:
    asked = error.details.get("retry_after_ms")
    return max(_delay(tries), asked / 1000 if isinstance(asked, (int, float)) else 0.0)


class Client:
    """Calls a server. It may be used from several threads, and after a fork.

    A call without an answer, or refused for now, is made again until `timeout` is over.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        timeout: float = 30.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _invalid("url", "the address of a server, as in http://127.0.0.1:7433", repr(url))
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._is_tls = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/") + "/rpc"
        self._ssl = ssl_context
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._lock = threading.Lock()
        self._idle: "list[tuple[float, int, http.client.HTTPConnection]]" = []

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes connections that are idle. A later call opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, connection in idle:
            connection.close()

    def call(
        self, method: str, params: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None
    ) -> Any:
        """Any method by its name. A call that may have happened is made again only if that does no harm."""
        params = dict(params or {})
        is_repeatable = method not in _ONCE
        if method in ("aicf.enqueue", "signup.schedule"):
            is_repeatable = "idempotency_key" in params or "tx_hash" in params

        def ask(patience: float) -> Any:
            # A server that has gone without a word must not use up the time of all tries.
            return self._once(method, params, patience / 3 if is_repeatable else patience)

        return self._persist(ask, self.timeout if timeout is None else timeout, is_repeatable)

    def enqueue(
        self, kind: str, payload: Any = None, *, idempotency_key: Optional[str] = None, **options: Any
    ) -> "dict[str, Any]":
        """Gives the receipt of a job once it is durable.

        `kind` is `ai`, `quantum` or `task`; any other text is the name of a task, and `payload` its args.
        `options` are the other fields of `aicf.enqueue`.
        """
        params = _job_params(kind, payload, {"idempotency_key": idempotency_key, **options})
        return self.call("aicf.enqueue", params)

    def enqueue_many(self, jobs: Iterable[Any]) -> "list[dict[str, Any]]":
        """Gives the receipts of many jobs, in their order.

        A job is `(kind, payload)` or `(kind, payload, options)`. The first refusal is raised, with the place
        of its job as `details["index"]`; other jobs may be enqueued by then.
        """
        requests = []
        for index, job in enumerate(jobs):
            if not isinstance(job, (tuple, list)) or not 2 <= len(job) <= 3:
                expected = "(kind, payload) or (kind, payload, options)"
                raise _invalid(f"jobs[{index}]", expected, repr(job)[:100])
            kind, payload, *more = job
            requests.append(_job_params(kind, payload, more[0] if more else {}))
        receipts: "list[dict[str, Any]]" = []
        for start, end in _chunks(requests):
            receipts += self._enqueue_chunk(requests[start:end], start)
        return receipts

    def _enqueue_chunk(self, requests: "list[dict[str, Any]]", offset: int) -> "list[dict[str, Any]]":
        """Those that are refused for now are asked again; all keep their keys."""
        answers: "dict[int, dict[str, Any]]" = {}

        def ask(patience: float) -> None:
            waiting = [index for index in range(len(requests)) if index not in answers]
            calls = [("aicf.enqueue", requests[index]) for index in waiting]
            later = None
            for index, answer in zip(waiting, self._batch(calls, patience / 3)):
                if not isinstance(answer, FairleadError):
                    answers[index] = answer
                    continue
                answer.details["index"] = offset + index
                if not answer.retryable:
                    raise answer
                later = later or answer
            if later is not None:
                raise later

        self._persist(ask, self.timeout)
        return [answers[index] for index in range(len(requests))]

    def get_result(self, task_id: str) -> Result:
        """The result of a job that is COMPLETED; the error `NoResultYet` while it is alive."""
        return Result(self.call("aicf.getResult", {"task_id": task_id}))

    def wait(self, task_id: str, timeout: Optional[float] = None) -> Any:
        """Waits for the value that the worker returned; None where there is no output.

        Raises if the job ended without a result, and `NoResultYet` when `timeout` is over.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        pause, tries = 0.03, 0
        while True:
            try:
                return Result(self._once("aicf.getResult", {"task_id": task_id}, 10.0)).value
            except FairleadError as error:
                if not error.retryable:
                    raise
                left = deadline - time.monotonic()
                if left <= 0:
                    text = f"job {task_id} has no result after {timeout} s"
                    raise FairleadError("NoResultYet", text, {"timeout": timeout}, True) from error
                if error.code == "NoResultYet":
                    delay, tries = pause * (0.5 + random.random() / 2), 0
                    pause = min(1.0, pause * 1.5)
                else:
                    delay, tries = _wait_of(error, tries), tries + 1
            time.sleep(min(delay, left))

    def get_job(self, task_id: str) -> "dict[str, Any]":
        return self.call("aicf.getJob", {"task_id": task_id})

    def cancel(self, task_id: str) -> str:
        """Ends a job that has not ended; a worker that has it is told. Gives its status."""
        try:
            return self.call("aicf.cancelJob", {"task_id": task_id})["status"]
        except FairleadError as error:
            # The answer to a first try may have been lost with its connection.
            if error.code != "InvalidState" or self.get_job(task_id)["status"] != "CANCELED":
                raise
            return "CANCELED"

    def _persist(
        self, ask: Callable[[float], Any], timeout: float, is_repeatable: bool = True
    ) -> Any:
        deadline = time.monotonic() + timeout
        tries = 0
        while True:
            try:
                return ask(max(1.0, deadline - time.monotonic()))
            except FairleadError as error:
                may_have_happened = (
                    error.code == "StoreUnavailable" and error.details.get("reason") != "unreachable"
                )
                if not error.retryable or error.code == "NoResultYet":
                    raise
                if may_have_happened and not is_repeatable:
                    raise
                wait = _wait_of(error, tries)
                if time.monotonic() + wait > deadline:
                    raise
            time.sleep(wait)
            tries += 1

    def _once(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        """One try of one call."""
        answer = self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, timeout)
        outcome = _outcome_of(answer)
        if isinstance(outcome, FairleadError):
            raise outcome
        return outcome

    def _batch(self, calls: "list[tuple[str, Mapping[str, Any]]]", timeout: float) -> "list[Any]":
        """One try of several calls; each has a result or a FairleadError."""
        asked = [
            {"jsonrpc": "2.0", "id": index, "method": method, "params": params}
            for index, (method, params) in enumerate(calls)
        ]
        answers = self._send(asked, timeout)
        if not isinstance(answers, list):
            # The batch as a whole was refused.
            refusal = _outcome_of(answers)
            raise refusal if isinstance(refusal, FairleadError) else _strange(self.url, "no batch")
        return [_outcome_of(answer) for answer in answers]

    def _send(self, message: Any, timeout: float) -> Any:
        try:
            body = json.dumps(message, allow_nan=False).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            text = f"params: expected values that can be written as JSON: {error}"
            raise FairleadError("InvalidParams", text, {"field": "params"}) from error
        if len(body) > _BODY_MAX:
            text = f"message: {len(body)} bytes are over the cap of {_BODY_MAX}; send less"
            details = {"limit": "message", "max": _BODY_MAX, "observed": len(body)}
            raise FairleadError("LimitExceeded", text, details)
        status, answer = self._post(body, timeout)
        try:
            return json.loads(answer)
        except ValueError:
            raise _refusal_of(self.url, status, answer) from None

    def _post(self, body: bytes, timeout: float) -> "tuple[int, bytes]":
        connection = self._take(timeout)
        try:
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            why = str(error) or type(error).__name__
            text = f"the connection was lost ({why}); it is not known whether the call was carried out"
            details = {"reason": "connection_lost"}
            raise FairleadError("StoreUnavailable", text, details, True) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((time.monotonic(), os.getpid(), connection))
        return response.status, answer

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        """A connection that was used a moment ago, or another."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                since, pid, connection = self._idle.pop()
            # A process that was forked shares the sockets of its parent, and must leave them alone.
            if pid == os.getpid() and time.monotonic() - since < _IDLE_SECS and connection.sock:
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        if self._is_tls:
            context = self._ssl or ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=context
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            why = str(error) or type(error).__name__
            advice = "start one with `fairlead serve`, or give another address"
            text = f"no server answers at {self.url} ({why}); {advice}"
            is_retryable = not isinstance(error, ssl.SSLCertVerificationError)
            details = {"reason": "unreachable", "url": self.url}
            raise FairleadError("StoreUnavailable", text, details, is_retryable) from error
        return connection


def _chunks(requests: "list[dict[str, Any]]") -> "Iterable[tuple[int, int]]":
    """Places of requests that go into one message."""
    start, size = 0, 0
    for index, request in enumerate(requests):
        try:
            length = len(json.dumps(request))
        except (TypeError, ValueError, RecursionError) as error:
            field = f"jobs[{index}]"
            text = f"{field}: expected values that can be written as JSON: {error}"
            raise FairleadError("InvalidParams", text, {"field": field}) from error
        is_full = index - start >= _ENQUEUE_AT_ONCE or size + length > _ENQUEUE_BYTES
        if is_full and index > start:
            yield start, index
            start, size = index, 0
        size += length
    if start < len(requests):
        yield start, len(requests)


def _outcome_of(answer: Any) -> Any:
    """The result of a call, or its error."""
    if not isinstance(answer, dict) or ("error" not in answer and "result" not in answer):
        return FairleadError("Internal", "expected an answer of JSON-RPC 2.0, got something else")
    error = answer.get("error")
    if error is None:
        return answer["result"]
    data = error.get("data") or {}
    return FairleadError(
        data.get("code", "InvalidParams"),
        error.get("message", "the call was refused"),
        data.get("details"),
        bool(data.get("retryable", False)),
    )


def _refusal_of(url: str, status: int, answer: bytes) -> FairleadError:
    """An answer outside of JSON-RPC, by the server or a proxy before it."""
    text = answer.decode("utf-8", "replace").strip()[:200]
    if status == 413:
        return FairleadError("LimitExceeded", f"{text or 'the message is too long'}; send less")
    if status in (429, 502, 503, 504):
        code = "RateLimited" if status == 429 else "StoreUnavailable"
        return FairleadError(code, f"{url} answered HTTP {status}: {text}", {"status": status}, True)
    if status in (401, 403):
        code = "Unauthorized" if status == 401 else "Forbidden"
        return FairleadError(code, f"{url} answered HTTP {status}: {text}", {"status": status})
    return _strange(url, f"HTTP {status}: {text}")


def _strange(url: str, got: str) -> FairleadError:
    return FairleadError("Internal", f"expected a Fairlead server at {url}, got {got}")


# ---------------------------------------------------------------------------------------------------
# The worker
# ---------------------------------------------------------------------------------------------------

_POLL_SECS = 25.0
_CALL_SECS = 10.0
# The share of the time until `renew_by` that a renewal comes early.
_EARLY = 0.1
# The lease is not ours any more: nothing is wrong, and nothing is left to say.
_LOST = frozenset(("LeaseNotLive", "Forbidden", "NotFound"))

Handler = Callable[[Any, "Job"], Any]


class Job:
    """One attempt at a job, as its handler gets it."""

    def __init__(self, worker: "Worker", lease: Mapping[str, Any]) -> None:
        self.task_id: str = lease["task_id"]
        self.lease_id: str = lease["lease_id"]
        #: 0 is the first.
        self.attempt: int = lease["attempt"]
        self.kind: str = lease["kind"]
        #: The name of the task, or the model; None where the kind has neither.
        self.name: Optional[str] = lease["model"]
        #: W3C trace context of the requester; None where there is none.
        self.traceparent: Optional[str] = lease["traceparent"]
        #: Set when the work is wanted no more: the lease was lost, or the job cancelled.
        self.lost = threading.Event()
        self.lost_reason: Optional[str] = None
        payload = dict(lease["payload"])
        for field in ("prompt", "circuit") if self.kind in ("ai", "quantum") else ():
            if field in payload:
                payload[field] = _bytes_of(payload[field])
        #: All fields of its kind; prompts and circuits are bytes.
        self.payload: "dict[str, Any]" = payload
        #: The args of a task; for every other kind the payload.
        self.data: Any = payload.get("args") if self.kind == "task" else payload
        self._worker = worker
        self._stage = "queued"
        self._is_renewing = False
        self._deadline = self._renew_at = math.inf
        self._given_deadline = 0
        self._retime(lease)

    def confirm(self) -> None:
        """Asks whether the lease is still ours, before a step that must not be made twice. Raises if not."""
        self._worker._confirm(self)

    def _retime(self, times: Mapping[str, Any]) -> None:
        """Counts from when the server gave the times: the two clocks need not agree."""
        now = time.monotonic()
        left = (times["renew_by"] - times["at"]) / 1000
        self._deadline = now + (times["t_deadline"] - times["at"]) / 1000
        self._renew_at = now + max(0.0, left) * (1 - _EARLY)
        self._given_deadline = times["t_deadline"]

    def _renewed(self, answer: Mapping[str, Any]) -> None:
        times = {**answer["lease"], "at": answer["at"]}
        is_moved = times["t_deadline"] != self._given_deadline
        self._retime(times)
        if is_moved:
            return
        # It came too early, or is of no use any more.
        left = (times["renew_by"] - times["at"]) / 1000
        self._renew_at = time.monotonic() + left if left > 0 else math.inf

    @property
    def _due_at(self) -> float:
        may_renew = self._stage == "running" and not self._is_renewing
        return min(self._renew_at, self._deadline) if may_renew else self._deadline


class Worker:
    """Serves a provider: takes its jobs by long polls and runs a handler for each, in threads.

    `run` blocks until the worker is told to stop, by SIGTERM, SIGINT or `stop`. The provider is registered if
    it is not there, with the kinds and names of the handlers as what it offers.
    """

    def __init__(
        self,
        client: Client,
        provider: str = "provider:python",
        *,
        concurrency: int = 1,
        worker_id: Optional[str] = None,
        grace: float = 25.0,
    ) -> None:
        if not isinstance(concurrency, int) or not 1 <= concurrency <= 10_000:
            raise _invalid("concurrency", "a whole number from 1 to 10,000", repr(concurrency))
        self.client = client
        self.provider = provider
        self.worker_id = worker_id or f"w-{secrets.token_hex(8)}"
        self.concurrency = concurrency
        self.grace = grace
        self._handlers: "dict[tuple[str, str], Handler]" = {}
        # Guards all that follows; the keeper waits on it for what falls due.
        self._state = threading.Condition()
        self._jobs: "dict[str, Job]" = {}
        # Handlers that go on though their lease is lost: each keeps its slot.
        self._stuck: "set[Job]" = set()
        self._phase = "new"
        # A poll is under way with which the server may give us work.
        self._has_open_slots = False
        self._over = threading.Event()
        self._notice: Optional[str] = None
        self._waiting: "queue.SimpleQueue[Optional[Job]]" = queue.SimpleQueue()
        # A signal handler may put into a SimpleQueue; the locks of an Event are not safe there.
        self._bell: "queue.SimpleQueue[Any]" = queue.SimpleQueue()

    def task(self, name: str = "*") -> Callable[[Handler], Handler]:
        """Registers the function below as the handler of tasks of this name; `*` is every other."""
        return self.on("task", name)

    def on(self, kind: str, model: str = "*") -> Callable[[Handler], Handler]:
        """Registers the function below as the handler of a kind and model; `*` is every other."""
        if kind not in ("ai", "quantum", "task"):
            raise _invalid("kind", "one of ai, quantum, task", repr(kind))
        if self._phase != "new":
            raise FairleadError("InvalidState", "the worker runs; register all handlers before `run`")

        def register(handler: Handler) -> Handler:
            self._handlers[(kind, model)] = handler
            return handler

        return register

    def stop(self) -> None:
        """Takes no more jobs. `run` returns when those that run are done, or their grace is over."""
        self._bell.put("stop")

    def run(self) -> None:
        """Works until it is told to stop. Raises if the server refuses this worker for good."""
        if self._phase != "new":
            raise FairleadError("InvalidState", "a worker runs once; make another one")
        if not self._handlers:
            raise _invalid("handlers", "at least one, as in @worker.task('email')", "none")
        self._phase = "running"
        before = self._catch_signals()
        threads = [threading.Thread(target=self._handle, daemon=True) for _ in range(self.concurrency)]
        poller = threading.Thread(target=self._poll, name="fairlead-poll", daemon=True)
        threads += [poller, threading.Thread(target=self._keep, name="fairlead-keep", daemon=True)]
        try:
            for thread in threads:
                thread.start()
            word = self._bell.get()
            if not isinstance(word, FairleadError):
                self._drain()
        finally:
            self._end()
            for signum, handler in before.items():
                signal.signal(signum, handler or signal.SIG_DFL)
        if isinstance(word, FairleadError):
            raise word
        # Its open poll is answered, so that its thread ends as well.
        self._nudge()
        poller.join(1.0)

    def _catch_signals(self) -> "dict[int, Any]":
        if threading.current_thread() is not threading.main_thread():
            return {}
        signals = (signal.SIGTERM, signal.SIGINT)
        return {each: signal.signal(each, lambda *_: self._bell.put("stop")) for each in signals}

    # The poll: what the server says

    def _poll(self) -> None:
        is_new, tries, said = True, 0, ""
        while self._phase != "over":
            try:
                with self._state:
                    # The poll before this one is answered.
                    self._has_open_slots = self._phase == "running"
                    self._state.notify_all()
                answer = self._ask_for_leases(is_new)
                if tries or is_new:
                    log.info("%s is served by %s at %s", self.provider, self.worker_id, self.client.url)
                is_new, tries, said = False, 0, ""
                self._take(answer)
            except FairleadError as error:
                with self._state:
                    self._has_open_slots = False
                    self._state.notify_all()
                if not error.retryable:
                    self._bell.put(error)
                    return
                if error.message != said and self._phase != "over":
                    said = error.message
                    log.warning("%s; trying again", error.message)
                is_new = True
                self._over.wait(_wait_of(error, tries))
                tries += 1

    def _ask_for_leases(self, is_new: bool, wait: float = _POLL_SECS) -> "dict[str, Any]":
        with self._state:
            slots = max(0, self.concurrency - len(self._stuck)) if self._phase == "running" else 0
            # A handler that comes free is told to the server by the next poll.
            wait = min(wait, 1.0) if self._stuck else wait
            params: "dict[str, Any]" = {
                "provider_id": self.provider,
                "worker_id": self.worker_id,
                "slots": slots,
                "wait_ms": 0 if is_new else int(wait * 1000),
            }
            if is_new:
                names = sorted({name for _, name in self._handlers})
                params["holds"] = list(self._jobs)
                params["kinds"] = sorted({kind for kind, _ in self._handlers})
                params["models"] = ["*"] if "*" in names else names
        return self.client._once("aicf.pollLeases", params, wait + _CALL_SECS)

    def _take(self, answer: Mapping[str, Any]) -> None:
        self._tell_notice(answer["notice"])
        if answer["held"] is not None:
            self._compare(answer["held"])
        for lease in answer["leases"]:
            with self._state:
                # One that comes again is being acked already.
                if lease["lease_id"] in self._jobs or self._phase == "over":
                    continue
                job = self._jobs[lease["lease_id"]] = Job(self, lease)
                self._state.notify_all()
            if self._phase == "running":
                self._waiting.put(job)
            else:
                self._give_back(job)
        for lost in answer["lost"]:
            self._lose(self._jobs.get(lost["lease_id"]), lost["reason"])

    def _compare(self, held: "list[Mapping[str, Any]]") -> None:
        """What we have and the server has not is lost; of the rest the times may have moved."""
        times = {each["lease_id"]: each for each in held}
        with self._state:
            for job in list(self._jobs.values()):
                if job.lease_id in times:
                    job._retime(times[job.lease_id])
                else:
                    self._lose(job, "the server has it no more")
            self._state.notify_all()

    def _tell_notice(self, notice: Optional[Mapping[str, Any]]) -> None:
        message = None if notice is None else notice["message"]
        if message == self._notice:
            return
        self._notice = message
        if message is None:
            log.info("%s is in service again", self.provider)
        else:
            log.warning("%s", message)

    # The keeper: renewals and deadlines

    def _keep(self) -> None:
        while True:
            with self._state:
                if self._phase == "over":
                    return
                now = time.monotonic()
                for job in [each for each in self._jobs.values() if each._deadline <= now]:
                    self._lose(job, "deadline", is_over=True)
                due = [each for each in self._jobs.values() if each._due_at <= now]
                if not due:
                    next_at = min((each._due_at for each in self._jobs.values()), default=math.inf)
                    self._state.wait(None if next_at == math.inf else next_at - now)
                    continue
                for job in due:
                    job._is_renewing = True
            self._renew(due)

    def _renew(self, due: "list[Job]") -> None:
        calls = [("aicf.renewLease", self._names(job)) for job in due]
        try:
            outcomes = self.client._batch(calls, _CALL_SECS)
        except FairleadError as error:
            outcomes = [error] * len(due)
        for job, outcome in zip(due, outcomes):
            with self._state:
                job._is_renewing = False
                if not isinstance(outcome, FairleadError):
                    job._renewed(outcome)
                elif outcome.retryable:
                    job._renew_at = time.monotonic() + _wait_of(outcome, 2)
                else:
                    # Without a renewal the lease runs on to its deadline.
                    job._renew_at = math.inf
                    if outcome.code in _LOST:
                        self._lose(job, outcome.message)
                    elif outcome.code != "RenewalsExhausted":
                        log.error("lease %s cannot be renewed: %s", job.lease_id, outcome.message)

    def _confirm(self, job: Job) -> None:
        try:
            answer = self._insist(job, "aicf.renewLease")
        except FairleadError as error:
            if error.code in _LOST:
                self._lose(job, error.message)
            raise
        with self._state:
            job._renewed(answer)
            self._state.notify_all()

    # The handlers

    def _handle(self) -> None:
        while True:
            job = self._waiting.get()
            if job is None:
                return
            try:
                self._serve(job)
            except FairleadError as error:
                if error.code not in _LOST:
                    log.error("job %s: %s", job.task_id, error.message)
            except Exception:
                log.exception("job %s: a defect of the worker", job.task_id)
            finally:
                self._forget(job)

    def _serve(self, job: Job) -> None:
        if self._phase != "running":
            return self._give_back(job)
        handler = self._handler_of(job)
        if handler is None:
            self._insist(job, "aicf.declineLease")
            return
        try:
            self._insist(job, "aicf.ackLease")
        except FairleadError as error:
            self._lose(job, error.message)
            raise
        with self._state:
            if job.lost.is_set():
                return
            job._stage = "running"
            self._state.notify_all()
        method, params = self._run(handler, job)
        with self._state:
            if job.lost.is_set():
                return
            job._stage = "reporting"
        try:
            self._insist(job, method, params)
        except FairleadError as error:
            # A result that is refused would hold its lease to the end: another attempt may do better.
            if method != "aicf.completeLease" or error.code not in ("InvalidParams", "LimitExceeded"):
                raise
            log.error("job %s: its result was refused: %s", job.task_id, error.message)
            refusal = {"code": "invalid_result", "message": _cut(error.message, _MESSAGE_MAX)}
            self._insist(job, "aicf.failLease", refusal)

    def _handler_of(self, job: Job) -> Optional[Handler]:
        exact = self._handlers.get((job.kind, job.name or "*"))
        return exact or self._handlers.get((job.kind, "*"))

    def _run(self, handler: Handler, job: Job) -> "tuple[str, dict[str, Any]]":
        """Runs the handler; gives the call that reports its outcome."""
        try:
            returned = handler(job.data, job)
            if inspect.iscoroutine(returned):
                # Only here: most workers have no use for it, and it takes long to load.
                import asyncio

                returned = asyncio.run(returned)
            return "aicf.completeLease", _report_of(returned)
        except BaseException as error:
            if not job.lost.is_set():
                is_expected = isinstance(error, (PermanentError, RetryAfter))
                log.error(
                    "job %s failed: %s", job.task_id, error, exc_info=None if is_expected else error
                )
            return "aicf.failLease", _failure_of(error)

    def _names(self, job: Job) -> "dict[str, Any]":
        return {
            "lease_id": job.lease_id,
            "provider_id": self.provider,
            "worker_id": self.worker_id,
        }

    def _insist(self, job: Job, method: str, params: Optional[Mapping[str, Any]] = None) -> Any:
        """Calls until there is an answer for good, or the lease is lost."""
        tries = 0
        while not job.lost.is_set():
            try:
                return self.client._once(method, {**self._names(job), **(params or {})}, _CALL_SECS)
            except FairleadError as error:
                if not error.retryable:
                    raise
                job.lost.wait(_wait_of(error, tries))
                tries += 1
        raise FairleadError("LeaseNotLive", f"lease {job.lease_id} was lost: {job.lost_reason}")

    def _lose(self, job: Optional[Job], reason: str, is_over: bool = False) -> None:
        """The work is wanted no more. If it is done, the answer to its report says what became of it."""
        with self._state:
            if job is None or job.lost.is_set() or (job._stage == "reporting" and not is_over):
                return
            job.lost_reason = reason
            job.lost.set()
            self._jobs.pop(job.lease_id, None)
            if job._stage == "running":
                self._stuck.add(job)
        log.info("job %s: its lease was lost: %s", job.task_id, reason)
        self._bell_if_idle()

    def _forget(self, job: Job) -> None:
        with self._state:
            self._stuck.discard(job)
            if self._jobs.get(job.lease_id) is job:
                del self._jobs[job.lease_id]
        self._bell_if_idle()

    def _bell_if_idle(self) -> None:
        if self._phase == "draining" and not self._jobs:
            self._bell.put("idle")

    # The end

    def _drain(self) -> None:
        """No new work; what runs is waited for, and given back when its grace is over."""
        deadline = time.monotonic() + self.grace
        with self._state:
            self._phase = "draining"
        self._take_no_more()
        self._give_back_waiting()
        log.info("stopping: no more jobs come, %d under way are waited for", len(self._jobs))
        while self._jobs:
            try:
                word = self._bell.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            # A second signal: whoever runs it does not want to wait.
            if word == "stop":
                break
        self._give_up()

    def _take_no_more(self) -> None:
        """Until the server gives us nothing any more: before work is given back, or it would come again.

        A poll that was on its way has the slots of before, and may arrive behind the one that ends it.
        """
        for tries in range(8):
            self._nudge()
            with self._state:
                if self._state.wait_for(lambda: not self._has_open_slots, _delay(tries)):
                    return

    def _nudge(self) -> None:
        """Ends the open poll, so that its thread goes on at once."""
        try:
            self._take(self._ask_for_leases(False, 0.0))
        except FairleadError as error:
            log.debug("%s", error.message)

    def _give_back_waiting(self) -> None:
        while True:
            try:
                job = self._waiting.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                self._give_back(job)

    def _give_back(self, job: Job) -> None:
        try:
            self._insist(job, "aicf.releaseLease")
        except FairleadError as error:
            log.debug("%s", error.message)
        finally:
            self._forget(job)

    def _give_up(self) -> None:
        """Handlers are told, and their leases given back. What is being reported needs no more than that."""
        with self._state:
            left = [job for job in self._jobs.values() if job._stage != "reporting"]
            for job in left:
                self._lose(job, "the worker stops")
        if not left:
            return
        log.warning("the grace is over; leases given back: %d", len(left))
        calls = [("aicf.releaseLease", self._names(job)) for job in left]
        try:
            self.client._batch(calls, _CALL_SECS)
        except FairleadError as error:
            log.warning("the jobs could not be given back: %s", error.message)

    def _end(self) -> None:
        with self._state:
            self._phase = "over"
            self._over.set()
            for job in list(self._jobs.values()):
                self._lose(job, "the worker has ended", is_over=True)
            self._state.notify_all()
        for _ in range(self.concurrency):
            self._waiting.put(None)


def _report_of(returned: Any) -> "dict[str, Any]":
    """What a handler returned, as fields of `aicf.completeLease`."""
    if not isinstance(returned, Completion):
        return _output_of(returned)
    params = _output_of(returned.value)
    if returned.content_type is not None and "output" in params:
        params["content_type"] = returned.content_type
    for field in ("meta", "actual_units", "actual_tokens"):
        if getattr(returned, field) is not None:
            params[field] = getattr(returned, field)
    return params


# The server cuts messages at 4 KiB, and takes 16 KiB of details.
_MESSAGE_MAX, _STACK_MAX, _CAUSE_MAX = 8_192, 8_192, 2_048


def _failure_of(error: BaseException) -> "dict[str, Any]":
    """The report of an error that a handler raised (FAIL-1), as fields of `aicf.failLease`."""
    try:
        code = getattr(error, "code", None)
        is_code = isinstance(code, str) and code != ""
        failure: "dict[str, Any]" = {
            "code": code.lower()[:64] if is_code else "error",
            "message": _cut(_text_of(error), _MESSAGE_MAX),
            "details": _details_of(error),
        }
        if isinstance(error, PermanentError):
            failure["permanent"] = True
        if isinstance(error, RetryAfter):
            failure["retry_after_ms"] = math.ceil(error.seconds * 1000)
        return failure
    except Exception:
        # Its own text could not be made.
        return {"code": "error", "message": type(error).__name__}


def _details_of(error: BaseException) -> "dict[str, Any]":
    # The outermost frame is this file's own.
    place = error.__traceback__.tb_next if error.__traceback__ is not None else None
    stack = "".join(traceback.format_exception(type(error), error, place))
    # The place where it was raised stands last.
    details = {"name": type(error).__name__, "stack": _cut(stack, _STACK_MAX, from_end=True)}
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        details["cause"] = _cut(_text_of(cause), _CAUSE_MAX)
    return details


def _text_of(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _cut(text: str, size: int, from_end: bool = False) -> str:
    """As much of a text as fits, in whole characters that UTF-8 can hold."""
    data = text.encode("utf-8", "replace")
    return (data[-size:] if from_end else data[:size]).decode("utf-8", "ignore")
