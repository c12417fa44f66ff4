"""One reader for all who look: it follows the stores, counts, and says what is new to any number of clients.

A client gets the newest state, never a queue of old ones: whoever is slow misses some, and costs nothing. Looks and
pages have a budget: after a page that took t, the next waits for at least `SHARE` times t; looks wait likewise.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
import time
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from optarena._text import visible
from optarena.errors import DamagedStore, OptarenaError
from optarena.serve.choice import Choice
from optarena.serve.control import Control
from optarena.serve.progress import Progress
from optarena.store.columns import Attempt
from optarena.store.damage import sentence
from optarena.store.following import Follower, Stores

if TYPE_CHECKING:
    from optarena.serve.pages import Pages

LOOK_SECONDS, IDLE_SECONDS = 1.0, 4.0
"""Between two looks, while somebody watches a run, and else."""
PAGE_SECONDS = 5.0
"""Between two versions of the page, at least."""
SHARE, LEAST_SHARE = 100.0, 80.0
"""Pages of a run that goes on take at most a hundredth of a core; in its first minutes, an eightieth."""
LOOK_SHARE, SLOWEST_LOOK = 50.0, 2.0
"""Looks take at most a fiftieth of a core; up to this pause in seconds, at most a quarter of that."""
FIRST_SECONDS, SLICE_SECONDS = 0.2, 1.0
"""A large store is read in slices, so that the page shows at once what is known."""
MUCH = 0.01
"""The share of a store that may be unread when a page is made: a run goes on writing."""
MANY = 10_000
"""From so many studies on, Python looks for garbage no longer among what was read."""
READING = "The store is still being read"
BEAT_SECONDS = 15.0
"""A client hears from us at least so often: a connection that is gone is found out."""
MOST_CLIENTS = 500
MORE = b'"more":true}'
"""How the first part of a page ends, where others follow."""
T = TypeVar("T")


class Hub:
    """Started with the server; `state` is the newest."""

    def __init__(self, paths: Sequence[str | Path], shown: Callable[[], None] = lambda: None) -> None:
        """shown: called once, after the first look: its numbers can be shown."""
        self._shown = shown
        self.stores = Stores(paths)
        self.follower = Follower(self.stores)
        self.progress = Progress(self.follower)
        self.control = Control(self.stores)
        self.pages: Pages | None = None
        self.clients = 0
        self.problem = ""
        """Why the stores cannot be read now; what was read before stays."""
        self._id = secrets.token_hex(8)
        """By which a page notices another server at its address: versions begin again."""
        self._version = 0
        self._stale = True
        """Whether the page lacks something."""
        self._at_once = False
        self._cost = self._made = 0.0
        self._since = time.monotonic()
        self._slice = FIRST_SECONDS
        self._closing = False
        self._fetched = 0
        """Answers of the newest version that were sent completely."""
        self._look_cost = 0.0
        self._frozen = 0
        self._news = asyncio.Event()
        """Set when there is another state, and then replaced."""
        self._wake = asyncio.Event()
        # a thread each: to look, to answer, to make the rest of pages, to read one study; so none waits for another
        self._looker = ThreadPoolExecutor(1, "look")
        self._maker = ThreadPoolExecutor(1, "page")
        self._finisher = ThreadPoolExecutor(1, "rest")
        self._reader = ThreadPoolExecutor(1, "study")
        self._task: asyncio.Task[None] | None = None
        self.state = self._encoded()

    # ---- following -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for pool in (self._looker, self._maker, self._finisher, self._reader):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _follow(self) -> None:
        await self._look_and_publish()
        self._shown()
        while True:
            if self.follower.caught_up or self.problem:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._pause())
                self._wake.clear()
            await self._look_and_publish()

    async def _look_and_publish(self) -> None:
        await self._in(self._looker, self._look)
        self._publish()

    def _pause(self) -> float:
        """Seconds until the next look: more where much arrives, so that it is read in fewer and larger pieces."""
        if not self.clients or not (self.progress.live or self._stale):
            return max(IDLE_SECONDS, LOOK_SHARE * self._look_cost)
        return max(LOOK_SECONDS, min(SLOWEST_LOOK, 4 * LOOK_SHARE * self._look_cost), LOOK_SHARE * self._look_cost)

    def _look(self) -> None:
        """In the looking thread. Whatever goes wrong, the page says so and the next look begins anew."""
        began = time.thread_time()
        try:
            self._look_again()
        except Exception as error:
            self._look_cost = time.thread_time() - began
            self.follower = Follower(self.stores)
            self.progress = Progress(self.follower)
            self.problem = f"the store cannot be read ({type(error).__name__}: {error})"
            self.state = self._encoded()

    def _look_again(self) -> None:
        began = time.thread_time()
        self.control.look()
        try:
            growth = self.follower.look(self._slice)
            self._slice = SLICE_SECONDS
            self.progress.update(growth)
            self.problem = ""
        except (OptarenaError, OSError, ValueError) as error:  # it is gone, or changes under our hands
            self.problem = str(error)
            growth = None
        self._look_cost = 0.0 if growth is not None and growth.again else time.thread_time() - began
        self._stale = self._stale or bool(growth)
        if self.pages is not None and bool(self.pages.live) != bool(self.progress.live):
            self._stale = self._at_once = True  # it has begun, or ended: verdicts are others
            self._since = time.monotonic()
        if self._stale and self._may_renew():
            self._renew()
        self.state = self._encoded()

    def _may_renew(self) -> bool:
        """Whether a page can be made, is wanted, and is due."""
        # a run writes while it is read: the first page needs what existed when the look began
        known = self.follower.caught_up or (self.pages is not None and self.follower.unread < MUCH)
        read = not self.problem and known
        return read and self._is_due() and (bool(self.clients) or self.pages is None or self._at_once)

    def _is_due(self) -> bool:
        """Whether the page that is there has been paid for; in the first minutes of a run it is made more often."""
        now = time.monotonic()
        if self.pages is None or self._at_once:
            return True
        took = self._cost + self.pages.seconds
        pause = min(SHARE * took, max(LEAST_SHARE * took, (now - self._since) / 3))
        return now >= self._made + max(PAGE_SECONDS, pause)

    def _renew(self) -> None:
        """Another version of the data for pages."""
        # here, so that the first screen does not wait for what draws and compares
        from optarena.facade import Results
        from optarena.serve.pages import Pages

        began = time.thread_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamagedStore)
                results = Results.of_follower(self.follower)
        except (OptarenaError, OSError) as error:
            self.problem = str(error)
            return
        if len(results.chosen) > self._frozen + MANY:
            self._frozen = len(results.chosen)
            if self.pages is not None:
                gc.collect()  # what is garbage now would be frozen, too
            gc.freeze()  # what was read stays: a search for garbage need not look at millions of objects again
        self._cost, self._made, self._at_once = time.thread_time() - began, time.monotonic(), False
        self._version += 1
        self.pages = Pages(self._version, results, self.progress.live)
        self._stale = False

    def _encoded(self) -> bytes:
        damage = self.follower.all_damage()
        said = self.problem or (sentence(self.stores.path.name, damage, places=False) if damage else "")
        state = {
            "server": self._id,
            "version": self._version,
            "store": visible(self.stores.path.name),
            "problem": visible(said),
            "readable": not self.problem,
            "unread": round(self.follower.unread, 3) if self.pages is None or self.follower.unread > MUCH else 0,
            "paused": self.control.paused,
            "trouble": visible(self.control.trouble),
            "commands": [{**line, "did": visible(line["did"])} for line in self.control.recorded()],
            **self.progress.snapshot(),
        }
        return msgspec.json.encode(state)

    # ---- clients ---------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        old, self._news = self._news, asyncio.Event()
        old.set()

    def close(self) -> None:
        """Let every client go: the server ends."""
        self._closing = True
        self._publish()

    async def look_a_last_time(self, seconds: float) -> None:
        """Before the server ends: pages that are open learn how the run ended."""
        if not self.clients or not seconds:
            return
        until = time.monotonic() + seconds
        self._stale = self._at_once = True
        await self._look_and_publish()
        newest, self._fetched = self._version, 0
        while self._fetched < self.clients and self._version == newest and time.monotonic() < until:
            await asyncio.sleep(0.05)

    def wake(self) -> None:
        """Look again now."""
        self._wake.set()

    async def listen(self) -> AsyncIterator[bytes]:
        """The newest state whenever there is one, as server-sent events."""
        self.clients += 1
        self.wake()
        try:
            seen = b""
            yield b"retry: 2000\n\n"
            while not self._closing:
                news = self._news
                if self.state != seen:
                    seen = self.state
                    yield b"event: state\ndata: " + seen + b"\n\n"
                try:
                    await asyncio.wait_for(news.wait(), BEAT_SECONDS)
                except TimeoutError:
                    yield b"event: beat\ndata: .\n\n"
            yield b"event: end\ndata: .\n\n"
        finally:
            self.clients -= 1

    async def has_pages(self) -> bool:
        """Whether there is something to show; the first look may take a little while."""
        for _ in range(30):
            if self.pages is not None or self.problem:
                break
            await asyncio.sleep(0.1)
        return self.pages is not None

    def nothing(self) -> bytes:
        """The data of a page that has nothing to show yet: it asks again when it hears of a version."""
        offered: dict[str, list[str]] = {field.name: [] for field in fields(Choice)}
        live = bool(self.progress.live)
        return msgspec.json.encode(
            {"version": 0, "live": live, "offered": offered, "report": None, "why": visible(self.problem or READING)}
        )

    async def make(self, call: Callable[[Pages], T]) -> T:
        """Something of the newest data, in the thread that makes pages."""
        pages = self.pages if await self.has_pages() else None
        if pages is None:
            raise OptarenaError(self.problem or READING)
        return await self._in(self._maker, lambda: call(pages))

    async def study(self, id: str) -> bytes:
        """One study as the files have it now, from what the last look found: the page may be older."""
        attempt, hosts = await self._in(self._looker, lambda: self._newest(id))

        def read() -> bytes:
            from optarena.serve.study import on_disk, study_data

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamagedStore)
                return msgspec.json.encode(study_data(on_disk(self.stores, attempt, hosts), id))

        return await self._in(self._reader, read)

    def _newest(self, id: str) -> tuple[Attempt, set[str]]:
        """The newest attempt of a study, and the machines that runs are on."""
        found = self.progress.studies.get(id)
        if found is not None:
            return self.follower.attempts[found.owner], {run.host for run in self.progress.live}
        if self.progress.is_planned(id):
            raise OptarenaError("this study has not begun yet")
        reading = f". {READING}" if self.follower.unread > MUCH else ""
        raise OptarenaError(f"no study has this id{reading}")

    async def in_parts(self, choice: Choice) -> AsyncIterator[bytes]:
        """The page's data, a line of JSON for each part: the answer as soon as it is there, then the rest."""
        pages = self.pages
        if pages is None:
            yield self.nothing()
            return
        first = await self._in(self._maker, lambda: pages.first(choice))
        yield first + b"\n"
        if first.endswith(MORE):
            try:
                yield await self._in(self._finisher, lambda: pages.rest(choice)) + b"\n"
            except Exception as error:  # the answer has been sent: it stays, and the page says what is missing
                said = visible(str(error) or type(error).__name__)
                yield msgspec.json.encode({"error": f"The other sections could not be made: {said}"}) + b"\n"
        self._fetched += pages.version == self._version

    async def command(self, action: str, trials: int, sure: str = "") -> dict[str, str]:
        """Do what the page asks for; or, of what starts a run, say first what would run."""
        runs, live = self.follower.runs, self.progress.live

        def do() -> dict[str, str]:
            question = self.control.question(action, runs, live, trials)
            if question is not None and question.key != sure:
                return {"ask": visible(question.text), "sure": question.key}
            return {"did": self.control.do(action, runs, live, trials)}

        said = await self._in(self._looker, do)
        self.wake()
        return said

    @staticmethod
    async def _in(pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)
