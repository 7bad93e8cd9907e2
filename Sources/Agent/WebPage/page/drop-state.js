// What a transfer of single files is at, from what the agent says of it and what the user answers. Pure.

/** Outcomes that are kept of a receiver that runs for days. */
const mostKept = 200;
/** The states of entries that are whole on the agent's disk. */
const whole = ["present", "modified", "conflict", "extraneous", "downloaded"];
/** As many as one request may name. */
export const mostSent = 1000;

/** Whether an entry can be sent to a device. */
export function canSend(entry) { return entry.type === "file" && whole.includes(entry.state); }

/** `kind` is "send" or "receive"; `files` are the names of what is sent, in their order. */
export function begun(kind, files = []) {
  return { kind, files, session: null, step: "starting", question: null, receivers: [], file: null, to: "", directory: "", remark: null,
    results: [], counts: { done: 0, failed: 0 }, error: null };
}

/** The transfer after one notice of the agent. What a newer agent says is passed over. */
export function told(state, notice) {
  const { file, size, peer } = notice;
  switch (notice.type) {
    case "sending": return { ...state, session: notice.session };
    case "waiting": return { ...state, session: notice.session, step: "waiting", directory: notice.directory };
    case "receivers": return { ...state, step: "choosing", receivers: notice.devices };
    case "preparing": return { ...state, step: "preparing", question: null, file: { file, size, done: 0, rate: 0 } };
    // The whole file is read for its digest before it is offered; how far that is, the agent's questions say.
    case "wanted": return state.step === "preparing" ? { ...state, file: { ...state.file, done: Math.max(state.file.done, notice.offset) } } : state;
    case "connecting": return { ...state, step: "connecting", question: null, to: notice.address };
    case "code": return { ...state, step: "asked", question: { kind: "code", code: notice.code, peer } };
    case "offer": return { ...state, step: "asked", question: { kind: "offer", file, size, peer, present: notice.present ?? 0, number: notice.question } };
    case "announced": return { ...state, step: "offered", question: null, file: { file, size, peer, done: 0, rate: 0 } };
    case "progress": return { ...state, step: "moving", question: null, file: { file, size, peer, done: notice.bytesDone, rate: notice.bytesPerSecond ?? 0 } };
    case "retrying": return { ...state, step: "retrying", question: null, remark: { message: notice.message, text: notice.text } };
    case "sent": case "received":
      return settled(state, { outcome: notice.type, file, size, peer, path: notice.path, seconds: notice.seconds ?? 0 }, "done");
    case "failed": return settled(state, { outcome: "failed", file: file ?? null, error: notice.error }, "failed");
    case "done": return { ...state, step: "ended", question: null, file: null };
    default: return state;
  }
}

function settled(state, result, count) {
  return { ...state, step: state.kind === "receive" ? "waiting" : "starting", question: null, file: null,
    results: [...state.results, result].slice(-Math.max(mostKept, state.files.length)),
    counts: { ...state.counts, [count]: state.counts[count] + 1 } };
}

/** After the user's answer to a question, as the agent takes it. */
export function answered(state, action) {
  const step = { confirm: "confirmed", accept: "accepted", choose: "connecting", refuse: "declined", decline: "declined" }[action];
  return { ...state, step, question: null, to: "" };
}

/** The end of the request: `error` is why, null where the agent just ended it. */
export function ended(state, error) {
  if (state.step === "ended" || state.step === "stopped") return state;
  return { ...state, step: "failed", question: null, file: null, error: { code: error?.code ?? "interrupted", message: error?.code ? error.message : "" } };
}

/** The user has stopped it. */
export function stopped(state) { return isOver(state) ? state : { ...state, step: "stopped", question: null, file: null }; }

export function isOver(state) { return ["ended", "stopped", "failed"].includes(state.step); }

/** Whether something is lost if the page is closed. */
export function isBusy(state) { return !isOver(state) && (state.kind === "send" || state.question !== null || state.file !== null); }

/** How long the rest of the file takes at the rate that was measured; null where nothing moves. */
export function secondsLeft({ size, done, rate }) { return rate > 0 ? Math.ceil(Math.max(0, size - done) / rate) : null; }

/** The places in `files` of what was not sent: each file that was tried has one result, in their order. */
export function unsent(state) {
  return state.files.map((_, place) => place).filter((place) => state.results[place]?.outcome !== "sent");
}
