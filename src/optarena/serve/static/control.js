// Commands: pause, resume, stop, retry what failed, add trials.

let controlKey = "";

async function findKeys() {
  controlKey = (await fetched("/keys").catch(() => ({control: ""}))).control;
  if (live) showProgress(live);
}

/** @type {{action: string, body: object, text: string} | null} What would run, until the reader has decided. */
let toConfirm = null;
let refusal = "";

/**
 * @param {string} action
 * @param {object} body
 */
async function command(action, body = {}) {
  toConfirm = null;
  try {
    const answer = await fetched(`/control/${action}`, {
      method: "POST",
      headers: {"X-Optarena-Token": controlKey, "Content-Type": "application/json"},
      body: JSON.stringify(body),
    });
    if (answer.ask) toConfirm = {action, body: {...body, sure: answer.sure}, text: answer.ask};
    refusal = "";
    if (answer.did) say(answer.did);
  } catch (error) {
    refusal = error instanceof Error ? error.message : String(error);
    say(refusal);
  }
  if (live) showControl(live);
}

/** @param {LiveState} now */
function showControl(now) {
  const place = byId("control");
  place.hidden = !controlKey;
  if (!controlKey) return;
  const ended = !now.live && now.runs.length > 0;
  const last = now.commands[0];
  put(place, [now.live, now.paused, now.failed > 0, ended, last, now.trouble, toConfirm, refusal], () => {
    /**
     * @param {string} label
     * @param {() => void} call
     */
    const button = (label, call) => make("button", {type: "button", "data-key": label, on: {click: call}}, label);
    const more = make("input", {
      type: "number",
      min: 1,
      max: 1000,
      value: 1,
      "aria-label": "trials to add",
      "data-key": "n",
    });
    const stop = button("Stop", () => {
      // asked twice, on the page: a stray click stops nothing
      if (stop.dataset.sure) command("stop");
      else {
        stop.dataset.sure = "yes";
        stop.textContent = "Stop: sure?";
        setTimeout(() => {
          delete stop.dataset.sure;
          stop.textContent = "Stop";
        }, 4000);
      }
    });
    const asked = toConfirm;
    if (asked && !now.live)
      return [
        make("span", {class: "question", role: "alert"}, asked.text),
        button("Run it", () => command(asked.action, asked.body)),
        button("Cancel", () => {
          toConfirm = null;
          showControl(now);
        }),
      ];
    return [
      ...(now.live
        ? [now.paused ? button("Resume", () => command("resume")) : button("Pause", () => command("pause")), stop]
        : []),
      ...(ended && now.failed ? [button("Retry failed", () => command("retry"))] : []),
      ...(ended ? [more, button("Add trials", () => command("trials", {trials: Number(more.value)}))] : []),
      make(
        "span",
        {},
        refusal || now.trouble
          ? refusal || now.trouble
          : now.paused && now.live
            ? "Paused: what was begun goes on to its end."
            : last
              ? `Last command (${new Date(1000 * last.time).toLocaleString()}): ${last.did}`
              : "",
      ),
    ];
  });
}
