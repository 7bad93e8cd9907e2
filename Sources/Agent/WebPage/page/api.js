// The control API, as docs/control-api.md has it.
import { said, t } from "./words.js";

const noAnswer = () => new APIError({ code: "no-agent", message: t`The agent does not answer. Start it: synctrain agent start`, retryable: true });

/** What the agent answers instead of a result: `code`, a message that ends with what to do, `retryable`, `path`. */
export class APIError extends Error {
  constructor({ code = "failed", message = t`The agent gave no reason.`, retryable = false, path, text } = {}, status = 0) {
    super(said(message, text));
    this.code = code;
    this.retryable = retryable;
    this.path = path;
    this.status = status;
  }
}

function target(path, query = {}) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== false) words.append(key, value);
  }
  const text = words.toString().replaceAll("+", "%20");
  return text ? `/v1/${path}?${text}` : `/v1/${path}`;
}

async function send(method, path, { query, body, data, signal, headers = {} } = {}) {
  const options = { method, signal, credentials: "same-origin", headers: { "X-Synctrain": "page", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  if (data !== undefined) {
    options.body = data;
    options.headers["Content-Type"] = "application/octet-stream";
  }
  let response;
  try {
    response = await fetch(target(path, query), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw noAnswer();
  }
  if (!response.ok) {
    let document = {};
    try { document = await response.json(); } catch { /* an answer that is no error document has no words for it */ }
    const error = new APIError(document, response.status);
    if (error.status === 401) for (const listen of loggedOut) listen(error);
    throw error;
  }
  return response;
}

/**
 * What ends the streams that are open. A page that is left may be kept by the browser as it is, with its connections: a
 * pairing would go on, and six pages have all the connections that there are to one agent. One that comes back begins again.
 */
const ends = new Set();
addEventListener("pagehide", () => { for (const end of [...ends]) end(); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

const loggedOut = new Set();

/** Calls `listen` when the agent does not know this browser, or not any more. */
export function onLoggedOut(listen) { loggedOut.add(listen); }

/** Logs this browser in with the page's password. */
export async function logIn(password) {
  let response;
  try {
    response = await fetch("/login", {
      method: "POST", credentials: "same-origin", body: JSON.stringify({ password }),
      headers: { "X-Synctrain": "page", "Content-Type": "application/json" },
    });
  } catch { throw noAnswer(); }
  if (!response.ok) throw new APIError(await response.json().catch(() => ({})), response.status);
}

/** A document. */
export async function get(path, query, signal) { return (await send("GET", path, { query, signal })).json(); }
export async function post(path, body = {}, signal) { return (await send("POST", path, { body, signal })).json(); }
export async function patch(path, body = {}) { return (await send("PATCH", path, { body })).json(); }
export async function remove(path, query) { return (await send("DELETE", path, { query })).json(); }

/** Sends bytes as they are. */
export async function put(path, query, data, signal) { return (await send("POST", path, { query, data, signal })).json(); }

/** Lines of NDJSON, each as it comes; leaving the loop ends the request. An error in the middle is thrown. */
export async function* lines(method, path, { query, body, signal } = {}) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  ends.add(stop);
  try {
    const response = await send(method, path, { query, body, signal: controller.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) {
        const line = JSON.parse(part);
        if (line.type === "error") throw new APIError(line);
        yield line;
      }
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    ends.delete(stop);
    controller.abort();
  }
}

/**
 * A part of a list, `{entries, total, truncated, offset}`, `total` undefined where nobody has counted, `truncated` true where there is
 * more than was counted: `limit` of them from `offset` on, or from where what was asked for begins. An
 * agent that answers with lines has all of them, and the part is cut out here.
 */
export async function page(path, { limit, offset = 0, ...query }, signal) {
  const response = await send("GET", path, { query: { ...query, limit, offset: String(offset) }, signal });
  if ((response.headers.get("Content-Type") ?? "").startsWith("application/json")) {
    const { entries, total, truncated, incomplete, offset: at } = await response.json();
    return { entries, total, truncated, incomplete, offset: at };
  }
  const all = [];
  for (const line of (await response.text()).split("\n")) {
    if (!line) continue;
    const entry = JSON.parse(line);
    if (entry.type === "error") throw new APIError(entry);
    all.push(entry);
  }
  return { entries: all.slice(offset, offset + limit), total: all.length, offset };
}

/** Entries that the agent gives in one part of a list, at most. */
const partMost = 1000;

/**
 * The first `most` entries of a list, in as many parts as that takes: `{entries, total}`, `total` undefined where there is more and nobody
 * has counted.
 */
export async function first(path, most, query, signal) {
  const entries = [];
  for (;;) {
    const limit = Math.min(partMost, most - entries.length);
    const answer = await page(path, { ...query, limit, offset: entries.length }, signal);
    entries.push(...answer.entries);
    if (answer.entries.length < limit || entries.length === most) return { entries, total: answer.total };
  }
}

/** Where the bytes of a file are, for `src`. */
export function fileURL(reference, { download = false } = {}) { return target("file", { path: reference, download: download || undefined }); }
export function thumbnailURL(reference) { return target("thumbnail", { path: reference }); }
/** Where the bytes of an archived version are: `at` in seconds since 1970. */
export function versionURL(reference, at) { return target("versions/bytes", { path: reference, at }); }
/** Bytes of an archived version that the agent gives, at most. */
export const versionMost = 32 << 20;
export function memberURL(reference, member, { download = false } = {}) {
  return target("archive/member", { path: reference, member, download: download || undefined });
}

/**
 * Begins a long operation as a job and returns the job; `changed` is called with it whenever it has come further. The
 * promise ends with the result, or throws what the job failed with.
 */
export async function run(path, body, changed = () => {}) {
  const response = await send("POST", path, { body, headers: { Prefer: "respond-async" } });
  const answer = await response.json();
  if (response.status !== 202) return answer;
  return new Promise((resolve, reject) => {
    const fail = (error) => { jobs.delete(ask); reject(error); };
    const follow = (job) => {
      changed(job);
      if (job.state === "running") return;
      jobs.delete(ask);
      // Events of jobs come without the result.
      if (job.state === "done" && job.result === undefined) get(`jobs/${job.id}`).then((found) => resolve(found.job.result ?? {}), () => resolve({}));
      else if (job.state === "done") resolve(job.result);
      else reject(new APIError(job.error ?? { code: "interrupted", message: t`The job was cancelled.` }));
    };
    const ask = (job) => {
      if (job) { if (job.id === answer.job.id) follow(job); return; }
      get(`jobs/${answer.job.id}`).then((found) => { if (jobs.has(ask)) follow(found.job); }, (error) => {
        // An agent that does not answer now may answer when it is back; one that knows no such job was started again.
        if (error.code !== "no-agent") fail(error);
      });
    };
    jobs.add(ask);
    // It may have ended before anybody listened.
    ask(null);
  });
}

/** What follows jobs: each is called with a job that has come further, or with null when such news may have been missed. */
const jobs = new Set();

/** Types of events; a server-sent event with a name reaches listeners of that name only. */
const types = [
  "device-connected", "device-disconnected", "index-updated", "folder-changed", "device-pending", "folder-pending",
  "configuration-changed", "transfer-changed", "pairing-changed", "selection-changed", "selection-followed", "files-changed",
  "policies-changed", "job", "gap",
];

/**
 * The agent's events, for as long as the page lives and is seen: the browser connects again by itself and says what it had last.
 * `listen(event)` gets each; `missed()` is called when some could not be had again, before an event `gap`, `connected(true or false)`
 * when that changes.
 */
export function events(listen, missed, connected) {
  let source = null;
  let waiting = null;
  // What a tab shows that was opened behind another one is of before it is seen.
  let wasOpen = document.hidden;
  const end = () => {
    clearTimeout(waiting);
    source?.close();
    source = null;
  };
  // Browsers open six connections to an agent for all tabs together: a tab that nobody sees leaves its own to the others.
  const turn = () => {
    if (document.hidden) end();
    else if (!source) open();
  };
  ends.add(end);
  document.addEventListener("visibilitychange", turn);
  turn();

  function open() {
    clearTimeout(waiting);
    const own = source = new EventSource("/v1/events");
    let hasHeard = false;
    own.onopen = () => {
      connected(true);
      // Without an event received, as after it was replaced, it cannot tell the agent where to go on.
      if (wasOpen && !hasHeard) {
        missed();
        listen({ type: "gap" });
      }
      wasOpen = true;
      for (const follow of [...jobs]) follow(null);
    };
    own.onerror = () => {
      connected(false);
      // An answer that is not a stream, and in Firefox a refused connection, ends an EventSource for good and gives no reason: ask, and
      // try again later.
      if (own.readyState !== EventSource.CLOSED) return;
      source = null;
      get("status").catch(() => {});
      waiting = setTimeout(turn, 2000);
    };
    for (const type of types) {
      own.addEventListener(type, (message) => {
        hasHeard = true;
        const event = JSON.parse(message.data);
        if (type === "gap") {
          missed();
          for (const follow of [...jobs]) follow(null);
        }
        if (type === "job") for (const follow of [...jobs]) follow(event.job);
        listen({ ...event, type });
      });
    }
  }
}
