"""Use a search engine behind HTTP as a source: one request per query, described only in the configuration.

A failed query is never an empty result: it makes the pull fail or, if `allow_failed_queries` permits, counts as
missing data, which no comparison includes.
"""

import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.deadlines import Countdown
from ndcg_ab.errors import InputError, UnavailableError, format_value, require_libraries
from ndcg_ab.sources import base
from ndcg_ab.sources.costs import CostRecord, shuffle_requests
from ndcg_ab.sources.http.exchange import Hit, QueryError, Request, Template
from ndcg_ab.sources.tables.schema import DOCUMENT, Layout

ANSWERS = "answers.jsonl"


class SearchEngine(base.Source):
    """A source that queries a search engine over HTTP."""

    limits_key = "search engine"

    def __init__(self, described: HttpSource, directory: Path) -> None:
        super().__init__(described, directory)
        self.described = described.http

    def answer(self, layout: Layout, pull: base.PullRequest) -> base.PullResult:
        """Return the ranking of every query, the titles and addresses of documents, and the recorded costs.

        The documents are None if no hit has a title or an address; the costs are None if none are requested. Raises
        InputError or UnavailableError if too many queries fail, and InputError if no hit comes for any query.
        """
        require_libraries(f"{self.origin}: asking a search engine over HTTP", "httpx", "jmespath")
        from ndcg_ab.sources.http.client import Client, DeadlineError, failure_costs

        requests = self.requests(pull)
        file = AnswerFile(pull.folder)
        answers = {request.query_id: file.known[request.key][0] for request in requests if request.key in file.known}
        record = CostRecord(pull.costs or base.CostRequest(()))
        for request in requests:
            if request.query_id in answers:
                record.add(request.query_id, file.known[request.key][1])

        countdown = Countdown(f"{self.origin}: asking", len(requests) - len(answers), pull.say)

        def answered(request: Request, hits: list[Hit], costs: Mapping[str, float]) -> None:
            answers[request.query_id] = hits
            record.add(request.query_id, costs)
            file.add(request, hits, {name: costs[name] for name in record.request.names if name in costs})
            countdown.advance()

        client = Client(self.described, f"{self.origin}: http", record.request.names)
        try:
            waiting = [request for request in requests if request.query_id not in answers]
            if pull.costs:
                waiting = shuffle_requests(waiting, pull.costs.seed)
                client.send_all(
                    waiting[: pull.costs.warm_up],
                    lambda request, hits, costs: record.add(request.query_id, costs, is_cold=True),
                )
                client.failures.clear()  # each is asked again, and fails then if it must
            client.send_all(waiting, answered)
        except DeadlineError:
            raise UnavailableError(
                f"{self.origin}: {len(answers)} of {len(requests)} queries were answered within"
                f" deadline = {self.described.deadline:g} s: give it more time, or ask for more at once (concurrency)"
            ) from None
        order = [request.query_id for request in requests]
        failures = {query_id: client.failures[query_id] for query_id in order if query_id in client.failures}
        self.refuse(failures, len(requests))
        for query_id, error in failures.items():
            record.add(query_id, *failure_costs(error))
        table = make_ranking({query_id: answers[query_id] for query_id in order if query_id in answers}, layout)
        if not table.num_rows:
            raise InputError(
                f"{self.origin}: no hit came for any of {len(requests)} queries: look at what the engine answers to"
                f" {requests[0].method} for query {format_value(requests[0].query_id)}"
                if requests
                else f"{self.origin}: there is no query to ask for"
            )
        if failures:
            remark = base.Remark("failed_query", len(failures), tuple(failure_remarks(failures)[: base.MOST_EXAMPLES]))
            table = base.with_failed_queries(base.with_remarks(table, [remark]), list(failures))
        costs = record.table(self.describe_measurement(pull.costs)) if pull.costs else None
        return base.PullResult(table, make_documents(answers), costs)

    def requests(self, pull: base.PullRequest) -> list[Request]:
        """Return the request for each query."""
        template = Template(self.described, self.directory, f"{self.origin}: http")
        attributes = pull.attributes
        return [template.fill(query_id, text, attributes.get(query_id, {})) for query_id, text in pull.texts.items()]

    @contextlib.contextmanager
    def query_singly(self, pull: base.PullRequest) -> Iterator[base.Ask]:
        """Yield a function that sends the request of one query, given its id, and returns (costs, is_failed).

        costs: name -> value. Failed requests are retried. The function raises InputError or UnavailableError if more
        queries failed than allowed, and UnavailableError after the deadline for all queries.
        """
        from ndcg_ab.sources.http.client import Client

        requests = self.requests(pull)
        by_id = {request.query_id: request for request in requests}
        client = Client(self.described, f"{self.origin}: http", pull.costs.names if pull.costs else ())
        began = time.monotonic()
        with client.open_single_requests() as ask_one:

            def ask(query_id: str) -> base.RequestCosts:
                if time.monotonic() - began > (limit := self.described.deadline):
                    rule = f"not all queries were asked by turns within deadline = {limit:g} s: give it more time"
                    raise UnavailableError(f"{self.origin}: {rule}")
                costs = ask_one(by_id[query_id])
                self.refuse(client.failures, len(requests))
                return costs

            yield ask

    def describe_measurement(self, costs: base.CostRequest) -> str:
        """Return the clause that says how the latencies were measured."""
        at_once = self.described.concurrency
        pace = "one request at a time" if at_once == 1 else f"up to {at_once} requests at the same time"
        rate = f", at most {self.described.per_second:g} a second" if self.described.per_second else ""
        return f"asked over HTTP, {pace}{rate}{costs.order_text}"

    def refuse(self, failures: Mapping[str, QueryError], total: int) -> None:
        """Raise an error if more queries failed than allowed, or if all queries failed.

        The error is an UnavailableError if a retry of any failed query may help, else an InputError. failures: query_id
        -> error. total: the number of all queries.
        """
        allowed = self.described.allow_failed_queries
        if not failures or (len(failures) <= allowed and len(failures) < total):
            return
        first = failure_remarks(failures)[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        admitted = f"; {allowed} may fail (allow_failed_queries)" if allowed else ""
        kind = UnavailableError if any(error.may_pass for error in failures.values()) else InputError
        raise kind(f"{self.origin}: {first}{more}{admitted}")


class AnswerFile:
    """A file that stores the answers of a run, so that a retry of the run does not repeat requests.

    The file holds hits and costs, never a request or a secret. known: key of a request -> (hits, costs) from the file.
    folder: the folder of the file; None: nothing is stored.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / ANSWERS
        self.known: dict[str, tuple[list[Hit], dict[str, float]]] = {}
        if self.path is not None and self.path.exists():
            for line in self.path.read_bytes().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:  # a process that died wrote half of it
                    continue
                self.known[row["key"]] = [Hit(*hit) for hit in row["hits"]], row["costs"]

    def add(self, request: Request, hits: list[Hit], costs: Mapping[str, float]) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {"key": request.key, "hits": [dataclasses.astuple(hit) for hit in hits], "costs": costs}
        with self.path.open("ab") as file:
            file.write(json.dumps(row).encode() + b"\n")


def failure_remarks(failures: Mapping[str, QueryError]) -> list[str]:
    return [f"query {format_value(query_id)}: {error}" for query_id, error in failures.items()]


def make_ranking(hits_by_query: Mapping[str, list[Hit]], layout: Layout) -> pa.Table:
    """Return a table with one row per hit, with scores or, if hits have none, with ranks."""
    rows = [
        {"query_id": query_id, "doc_id": hit.doc_id, "score": hit.score, "rank": rank if hit.score is None else None}
        for query_id, hits in hits_by_query.items()
        for rank, hit in enumerate(hits, start=1)
    ]
    return pa.Table.from_pylist(rows, schema=layout.schema)


def make_documents(hits_by_query: Mapping[str, list[Hit]]) -> pa.Table | None:
    """Return a table of the documents with a title or an address, sorted by id, or None if there are none."""
    known: dict[str, dict[str, str | None]] = {}
    for hits in hits_by_query.values():
        for hit in hits:
            if hit.title or hit.url:
                row = known.setdefault(hit.doc_id, {"doc_id": hit.doc_id, "title": hit.title, "url": hit.url})
                row["title"], row["url"] = row["title"] or hit.title, row["url"] or hit.url
    return pa.Table.from_pylist([known[doc_id] for doc_id in sorted(known)], schema=DOCUMENT.schema) if known else None
