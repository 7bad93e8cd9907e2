// The bytes of files that this browser has, sent to the agent as it asks for them: docs/control-api.md, Sending files of a client.
import { isPassing, pause } from "./upload.js";

/** Each takes one of the six connections that a browser opens. */
const atOnce = 2;

/** Answers the notices `wanted` of one transfer, whose `files` are those that it provides, in their order. */
export class Parts {
  constructor(api, files, signal) {
    this.api = api;
    this.files = files;
    this.signal = signal;
    this.waiting = [];
    this.running = 0;
  }

  /** Takes a notice, and the number of the transfer. */
  give(session, { place, offset, count }) {
    this.waiting.push({ session, place, offset, count });
    this.#pump();
  }

  #pump() {
    while (this.running < atOnce && this.waiting.length > 0) {
      this.running += 1;
      this.#send(this.waiting.shift()).finally(() => { this.running -= 1; this.#pump(); });
    }
  }

  async #send({ session, place, offset, count }) {
    const read = await readPart(this.files[place], offset, count);
    const query = { session, place: String(place), offset: String(offset), problem: read.problem };
    while (!this.signal.aborted) {
      try { return await this.api.put("drop/part", query, read.bytes ?? "", this.signal); } catch (error) {
        // The agent refuses parts that it does not need any more. It ends a transfer that lacks one, and says why.
        if (error.name === "AbortError" || !isPassing(error)) return undefined;
      }
      await pause(500, this.signal).catch(() => {});
    }
    return undefined;
  }
}

/** `{bytes}` of a part, or the `problem`: a browser reads nothing of a file that was changed or deleted since it was chosen. */
export async function readPart(file, offset, count) {
  let bytes;
  try { bytes = await file.slice(offset, offset + count).arrayBuffer(); } catch { return { problem: "unreadable" }; }
  if (bytes.byteLength === count) return { bytes };
  // Of a file that is gone Chromium reads no bytes, without an error.
  return { problem: bytes.byteLength === 0 ? "unreadable" : "changed" };
}
