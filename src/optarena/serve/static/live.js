// The live page: what runs, what fails, and the report as it grows. All that comes from a store is set as text.

byId("follow").addEventListener("click", () => {
  following = !following;
  connection(connected);
  if (following && live && live.version > shownVersion) ask();
});
byId("news").addEventListener("click", () => {
  used = 0;
  showWaiting();
});
for (const event of ["focusin", "pointerdown", "keydown", "input"])
  byId("report").addEventListener(event, () => {
    used = Date.now();
  });
byId("report").addEventListener("focusout", () =>
  setTimeout(() => {
    if (!byId("report").contains(document.activeElement)) showWaiting();
  }, 300),
);
byId("report").addEventListener("toggle", openedProblem, true);
addEventListener("popstate", () => {
  ask();
  buildChanges();
});
addEventListener("beforeprint", () => {
  for (const chart of charts) chart.draw();
});
document.addEventListener("visibilitychange", listen);
addEventListener("online", listen);
addEventListener("pageshow", (event) => {
  if (event.persisted) listen();
});
setInterval(watch, 5_000);
listen();
ask();
void findKeys();
