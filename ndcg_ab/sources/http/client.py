"""Asks a search engine: several requests at a time, within bounds, again where that may help.

Everything runs in an event loop in a thread of its own, because the caller may have one already (a notebook, Prefect).
A request as a whole has a time, however slowly its bytes come; so have all of them together.
"""

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from ndcg_ab.config.model.costs import LATENCY
from ndcg_ab.config.model.inputs.http import HttpRequest
from ndcg_ab.config.secrets.lookup import redact
from ndcg_ab.sources.base import RequestCosts
from ndcg_ab.sources.files.unpacking import GZIP, BrokenError, TooDenseError, TooLargeError, unpack
from ndcg_ab.sources.http.answers import ENOUGH, AnswerReader, Hit, QueryError, excerpt, parse_answer
from ndcg_ab.sources.http.requests import Request

T = TypeVar("T")
Answered = Callable[[Request, list[Hit], Mapping[str, float]], None]  # the hits of a request, and what it cost
MAY_PASS = {408, 425, 429, *range(500, 600)} - {501, 505}
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds before another attempt
MOST_REDIRECTS = 3
POLL = 0.2  # seconds after which the waiting thread looks whether it was interrupted


class DeadlineError(Exception):
    """The time for all queries is over."""


class BusyError(QueryError):
    """The engine asks to be left alone for some seconds: `pause`."""

    def __init__(self, message: str, pause: float) -> None:
        super().__init__(message, may_pass=pause <= LONGEST_WAIT)
        self.pause = pause


class Client:
    """Asks for one system; failures: query_id -> why it has no answer.  costs: names of those that are told of each."""

    def __init__(
        self, described: HttpRequest, base: tuple[str, str], reader: AnswerReader, costs: Sequence[str] = ()
    ) -> None:
        self.costs = costs
        self.described = described
        self.base = base
        self.reader = reader
        self.failures: dict[str, QueryError] = {}
        self.next_turn = 0.0

    def ask(self, requests: Sequence[Request], answered: Answered) -> None:
        """Every request; `answered` is given each answer as it comes.

        Ends early when more queries failed than may.  Raises DeadlineError.
        """
        run_in_thread(lambda: self.ask_all(requests, answered))

    async def ask_all(self, requests: Sequence[Request], answered: Answered) -> None:
        described = self.described
        async with self.session() as self.http:
            waiting = iter(requests)
            workers = [
                asyncio.create_task(self.work(waiting, answered))
                for _ in range(min(described.concurrency, len(requests)))
            ]
            try:
                async with asyncio.timeout(described.deadline):
                    for worker in asyncio.as_completed(workers):
                        await worker
                        if self.is_hopeless:
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
        is_safe = self.base[0] == "https"  # else nothing is checked, and no certificates need be read
        packed = {"Accept-Encoding": "gzip"}  # what `open_answer` unpacks, within bounds: httpx knows none
        return httpx.AsyncClient(headers=packed, limits=limits, timeout=timeout, verify=is_safe)

    @contextlib.contextmanager
    def one_by_one(self) -> Iterator[Callable[[Request], RequestCosts]]:
        """Asks when it is told to, over connections that stay open: what the request cost."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        def wait_for(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        def ask(request: Request) -> RequestCosts:
            try:
                return RequestCosts(wait_for(self.answer(request))[1])
            except QueryError as error:
                self.failures[request.query_id] = error
                return failure_costs(error)

        self.http = self.session()
        try:
            yield ask
        finally:
            wait_for(self.http.aclose())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    @property
    def is_hopeless(self) -> bool:
        return len(self.failures) > self.described.allow_failed_queries

    async def work(self, waiting: Iterator[Request], answered: Answered) -> None:
        """Takes one request after the other, until there is none or too many failed."""
        for request in waiting:
            try:
                answered(request, *await self.answer(request))
            except QueryError as error:
                self.failures[request.query_id] = error
            if self.is_hopeless:
                return

    async def answer(self, request: Request) -> tuple[list[Hit], dict[str, float]]:
        """The hits for one query and what it cost; it is asked again where that may help.

        The time is that of the request that was answered, from its begin to the last byte. QueryError has the time
        until the last request was given up, which is `timeout` where that is why.
        """
        attempt = 1
        while True:
            await self.turn()
            began = time.perf_counter()
            try:
                async with asyncio.timeout(self.described.timeout):
                    content = await self.body(request)
                    costs = {LATENCY: 1000 * (time.perf_counter() - began)}
                    answer = parse_answer(content)
                    hits = self.reader.hits_in(answer)
                    return hits, costs | self.reader.costs_in(answer, self.costs)
            except TimeoutError:
                limit = self.described.timeout
                error = QueryError(f"no whole answer came within timeout = {limit:g} s", True, limit)
            except httpx.InvalidURL as trouble:
                raise QueryError(f"the address cannot be asked: {excerpt(str(trouble))}") from None
            except httpx.HTTPError as trouble:
                said = excerpt(str(trouble)) if str(trouble) else "no more is known"
                error = QueryError(f"{failure_text(trouble)}: {said}", True)
            except QueryError as trouble:
                error = trouble
            if not error.may_pass or attempt > self.described.retries:
                times = f" (asked {attempt} times)" if attempt > 1 else ""
                seconds = time.perf_counter() - began if error.seconds is None else error.seconds
                raise QueryError(f"{error}{times}", error.may_pass, seconds) from None
            await asyncio.sleep(self.pause(error, attempt))
            attempt += 1

    def pause(self, error: QueryError, attempt: int) -> float:
        """Seconds before the next attempt: what the engine asks for, else twice as long every time."""
        if isinstance(error, BusyError):
            self.next_turn = max(self.next_turn, asyncio.get_running_loop().time() + error.pause)
            return 0.0
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
        return float(longest * random.uniform(0.5, 1.0))

    async def turn(self) -> None:
        """Waits until another request may begin."""
        now = asyncio.get_running_loop().time
        own = max(self.next_turn, now())
        if self.described.per_second:
            self.next_turn = own + 1 / self.described.per_second
        while (left := own - now()) > 0:
            await asyncio.sleep(left)
        if not self.described.per_second and self.next_turn > now():
            await self.turn()

    async def body(self, request: Request) -> bytes:
        """The content of the answer; redirects are followed on the same host alone."""
        url = httpx.URL(request.url)
        if request.parameters:
            url = url.copy_with(params=httpx.QueryParams([*url.params.multi_items(), *request.parameters]))
        for _ in range(MOST_REDIRECTS + 1):
            sent = self.http.build_request(request.method, url, headers=request.headers, content=request.body)
            response = await self.http.send(sent, stream=True)
            try:
                if not response.has_redirect_location:
                    return await self.content(response)
                url = self.redirected(response, request.method)
            finally:
                await response.aclose()
        raise QueryError(f"more than {MOST_REDIRECTS} redirects came: name the last address in `url`")

    def redirected(self, response: httpx.Response, method: str) -> httpx.URL:
        said = f"status {response.status_code}"
        try:
            target = response.request.url.join(response.headers["location"])
        except httpx.InvalidURL:
            raise QueryError(f"{said}: the redirect leads to no address") from None
        here = response.request.url
        if (target.scheme, target.host, target.port) != (here.scheme, here.host, here.port):
            place = redact(f"{target.scheme}://{target.host}" + (f":{target.port}" if target.port else ""))
            raise QueryError(f"{said}: the redirect leads elsewhere, to {place}, and is not followed: name it in `url`")
        if method != "GET" and response.status_code not in (307, 308):
            raise QueryError(f"{said}: the redirect would lose the body: name the last address in `url`")
        return target

    async def content(self, response: httpx.Response) -> bytes:
        """The bytes of an answer whose status is good."""
        packed = bytearray()
        async for part in response.aiter_raw():
            packed += part
            if len(packed) > self.described.most_bytes:
                raise QueryError(too_large_text(self.described))
        if response.is_success:
            return open_answer(bytes(packed), response, self.described)
        text = ""
        with contextlib.suppress(QueryError):  # the status says more than what the answer is packed in
            text = excerpt(open_answer(bytes(packed), response, self.described)[:ENOUGH].decode(errors="replace"))
        message = f"status {response.status_code}" + (f": {text}" if text else "")
        seconds = seconds_asked(response.headers.get("retry-after"))
        if seconds is not None and response.status_code in MAY_PASS:
            raise BusyError(f"{message}; it asks to wait {seconds:.0f} s", seconds)
        raise QueryError(message, response.status_code in MAY_PASS)


def failure_costs(error: QueryError) -> RequestCosts:
    """Of a request that failed: the time until it was given up, which an answer would have taken at least."""
    return RequestCosts({} if error.seconds is None else {LATENCY: 1000 * error.seconds}, is_failed=True)


def too_large_text(described: HttpRequest) -> str:
    return (
        f"the answer is larger than most_bytes = {described.most_bytes}: ask for fewer fields, or give a larger number"
    )


def open_answer(content: bytes, response: httpx.Response, described: HttpRequest) -> bytes:
    """An answer unpacked, where it is packed as it was asked for: by gzip, once.

    QueryError for anything else, and where it unpacks to more than it may.
    """
    layers = [each.strip().lower() for each in response.headers.get_list("content-encoding", split_commas=True)]
    layers = [each for each in layers if each not in ("", "identity")]
    if not layers or not content:
        return content
    if layers not in (["gzip"], ["x-gzip"]):
        raise QueryError(
            f"the answer is packed by {excerpt(', '.join(layers))}, and gzip alone, once, was asked for: see what packs"
            " it (a proxy? a header Accept-Encoding in `headers`?)"
        )
    try:
        return unpack(content, GZIP, described.most_bytes)
    except TooLargeError:
        raise QueryError(too_large_text(described)) from None
    except TooDenseError as error:
        raise QueryError(f"the answer of {len(content):,} bytes {error}, and no ranking does") from None
    except BrokenError as error:
        raise QueryError(f"the answer cannot be unpacked: {excerpt(str(error))}", may_pass=True) from None


def seconds_asked(retry_after: str | None) -> float | None:
    """The seconds that `Retry-After` asks for: a number, or a date; None where it says neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    with contextlib.suppress(ValueError, OverflowError):
        moment = parsedate_to_datetime(retry_after)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None


def failure_text(trouble: httpx.HTTPError) -> str:
    """What kind of trouble it is, in words."""
    if isinstance(trouble, httpx.ConnectTimeout):
        return "the engine cannot be reached in time"
    if isinstance(trouble, httpx.ConnectError):
        return "the engine cannot be reached"
    return "the answer broke off"


def run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine gives, run in a thread of its own; it is cancelled when the caller is interrupted."""
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> T:
        if task := asyncio.current_task():
            running.append((asyncio.get_running_loop(), task))
        return await work()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, noted())
        try:
            while not wait([future], POLL).done:
                pass
            return future.result()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                for loop, task in running:
                    loop.call_soon_threadsafe(task.cancel)
            raise
