"""Send the queries to a search engine concurrently, within limits, and retry if that may help.

Everything runs in an event loop in a separate thread, because the caller may have a loop already (a notebook, Prefect).
Each request has a time limit, and so have all requests together.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

import httpx
from anyio.from_thread import start_blocking_portal

from ndcg_ab.config.model.costs import LATENCY
from ndcg_ab.config.model.inputs.http import HttpRequest
from ndcg_ab.config.secrets.lookup import redact
from ndcg_ab.sources.base import RequestCosts
from ndcg_ab.sources.http.exchange import ENOUGH, AnswerReader, Hit, QueryError, Request, excerpt, parse_answer

Answered = Callable[[Request, list[Hit], Mapping[str, float]], None]  # the hits of a request, and what it cost
MAY_PASS = {408, 425, 429, *range(500, 600)} - {501, 505}
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before another attempt


class DeadlineError(Exception):
    """Raised if the time for all queries is over."""


class Client:
    """A client that sends the requests to one system.

    failures: query_id -> error, for each query without an answer. where: the configuration key of the request, for
    messages. costs: the names of the costs that are read from answers.
    """

    def __init__(self, described: HttpRequest, where: str, costs: Sequence[str] = ()) -> None:
        self.described, self.costs = described, costs
        self.reader = AnswerReader(described, where)
        self.failures: dict[str, QueryError] = {}
        self.next_turn = 0.0

    def send_all(self, requests: Sequence[Request], on_answer: Answered) -> None:
        """Send every request and call `on_answer` with each answer as it arrives.

        The errors of failed queries are added to `failures`; if there are more than allowed, the method returns early.
        Raises DeadlineError if the time for all queries is over.
        """
        with start_blocking_portal() as portal:
            portal.call(self.ask_all, requests, on_answer)

    async def ask_all(self, requests: Sequence[Request], on_answer: Answered) -> None:
        described = self.described
        async with self.session() as self.http:
            waiting = iter(requests)
            workers = [
                asyncio.create_task(self.send_next_requests(waiting, on_answer))
                for _ in range(min(described.concurrency, len(requests)))
            ]
            try:
                async with asyncio.timeout(described.deadline):
                    for worker in asyncio.as_completed(workers):
                        await worker
                        if self.has_too_many_failures:
                            return
            except TimeoutError:
                raise DeadlineError from None
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    def session(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=self.described.concurrency)
        timeout = httpx.Timeout(None, connect=self.described.connect_timeout)
        plain = {"Accept-Encoding": "identity"}  # a packed answer may be a bomb
        return httpx.AsyncClient(headers=plain, limits=limits, timeout=timeout)

    @contextlib.contextmanager
    def open_single_requests(self) -> Iterator[Callable[[Request], RequestCosts]]:
        """Yield a function that sends one request over an open connection and returns (costs, is_failed).

        costs: name -> value; for a failed request the time until it was given up, in milliseconds.
        """
        with start_blocking_portal() as portal:

            def ask(request: Request) -> RequestCosts:
                try:
                    return portal.call(self.fetch_answer, request)[1], False
                except QueryError as error:
                    self.failures[request.query_id] = error
                    return failure_costs(error)

            self.http = self.session()
            try:
                yield ask
            finally:
                portal.call(self.http.aclose)

    @property
    def has_too_many_failures(self) -> bool:
        return len(self.failures) > self.described.allow_failed_queries

    async def send_next_requests(self, waiting: Iterator[Request], on_answer: Answered) -> None:
        """Send requests from a shared iterator one after the other until none is left or too many failed."""
        for request in waiting:
            try:
                on_answer(request, *await self.fetch_answer(request))
            except QueryError as error:
                self.failures[request.query_id] = error
            if self.has_too_many_failures:
                return

    async def fetch_answer(self, request: Request) -> tuple[list[Hit], dict[str, float]]:
        """Send the request of one query, retrying if that may help, and return (hits, costs).

        costs: name -> value. The latency in milliseconds is that of the last attempt, from its start to the last byte.
        Raises QueryError if no attempt succeeds; its `seconds` are the duration of the last attempt, or `timeout` if
        that timed out.
        """
        attempt = 1
        while True:
            await self.wait_for_turn()
            began = time.perf_counter()
            try:
                async with asyncio.timeout(self.described.timeout):
                    content = await self.fetch_body(request)
                    costs = {LATENCY: 1000 * (time.perf_counter() - began)}
                    answer = parse_answer(content)
                    hits = self.reader.read_hits(answer)
                    return hits, costs | self.reader.read_costs(answer, self.costs)
            except TimeoutError:
                limit = self.described.timeout
                error = QueryError(f"no whole answer came within timeout = {limit:g} s", True, limit)
            except httpx.InvalidURL as trouble:
                raise QueryError(f"the address cannot be asked: {excerpt(str(trouble))}") from None
            except httpx.HTTPError as trouble:
                reason = excerpt(str(trouble)) if str(trouble) else "no more is known"
                is_away = isinstance(trouble, httpx.ConnectTimeout | httpx.ConnectError)
                problem = "the engine cannot be reached" if is_away else "the answer broke off"
                error = QueryError(f"{problem}: {reason}", True)
            except QueryError as trouble:
                error = trouble
            if not error.may_pass or attempt > self.described.retries:
                times = f" (asked {attempt} times)" if attempt > 1 else ""
                seconds = time.perf_counter() - began if error.seconds is None else error.seconds
                raise QueryError(f"{error}{times}", error.may_pass, seconds) from None
            await asyncio.sleep(self.retry_delay(error, attempt))
            attempt += 1

    def retry_delay(self, error: QueryError, attempt: int) -> float:
        """Return the number of seconds to sleep before the next attempt.

        The number doubles with each attempt and is partly random. If the engine requests a pause, the result is 0, and
        the pause delays the next request of every query.
        """
        if error.pause is not None:
            self.next_turn = max(self.next_turn, asyncio.get_running_loop().time() + error.pause)
            return 0.0
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
        return float(longest * random.uniform(0.5, 1.0))

    async def wait_for_turn(self) -> None:
        """Wait until the rate limit allows another request."""
        now = asyncio.get_running_loop().time
        while (wait := self.next_turn - now()) > 0:  # which another request may have put off meanwhile
            await asyncio.sleep(wait)
        if self.described.per_second:
            self.next_turn = now() + 1 / self.described.per_second

    async def fetch_body(self, request: Request) -> bytes:
        """Send one request and return the content of the response.

        Raises QueryError if the status is not success, or if the response is compressed or too large.
        """
        url = httpx.URL(request.url)
        if request.parameters:
            url = url.copy_with(params=httpx.QueryParams([*url.params.multi_items(), *request.parameters]))
        content = bytearray()
        async with self.http.stream(request.method, url, headers=request.headers, content=request.body) as response:
            packing = response.headers.get("content-encoding", "identity").strip().lower()
            if packing != "identity" and response.is_success:
                raise QueryError(
                    f"the answer is packed by {excerpt(packing)}, and was asked for unpacked: see what packs it (a"
                    " proxy? a header Accept-Encoding in `headers`?)"
                )
            async for part in response.aiter_raw():
                content += part
                if len(content) > self.described.most_bytes:
                    raise QueryError(
                        f"the answer is larger than most_bytes = {self.described.most_bytes}: ask for fewer fields, or"
                        " give a larger number"
                    )
        if response.is_success:
            return bytes(content)
        refuse_status(response, bytes(content) if packing == "identity" else b"")


def failure_costs(error: QueryError) -> RequestCosts:
    """Return (costs, is_failed) of a failed request, where is_failed is True.

    costs: {LATENCY: milliseconds until the request was given up}, a lower bound; empty if nothing was sent.
    """
    return ({} if error.seconds is None else {LATENCY: 1000 * error.seconds}), True


def refuse_status(response: httpx.Response, content: bytes) -> NoReturn:
    """Raise the QueryError for a response with a status other than success."""
    status, message = response.status_code, f"status {response.status_code}"
    if response.has_redirect_location:
        url = redact(response.headers["location"].partition("?")[0])
        raise QueryError(f"{message}: redirects are not followed, here to {excerpt(url)}: name that address in `url`")
    if text := excerpt(content[:ENOUGH].decode(errors="replace")):
        message += f": {text}"
    pause = response.headers.get("retry-after", "").strip()
    if pause.isdecimal() and status in MAY_PASS:
        wait_text = f"{message}; it asks to wait {pause} s"
        raise QueryError(wait_text, float(pause) <= LONGEST_WAIT, pause=float(pause))
    raise QueryError(message, status in MAY_PASS)
