// One file's way to the agent, part by part: docs/control-api.md, Uploads.
import { digest, hex } from "./sha256.js";

const block = 1 << 20;
const smallest = 16 << 10;
const largest = 4 << 20;
/** A part has to arrive within ten seconds: it is made larger and smaller so that it takes about one. */
const quick = 700;
const slow = 3000;

/** The SHA-256 of the SHA-256s of a file's blocks, in hexadecimal digits; `read(share)` is called with how much is read. */
export async function digestOf(file, signal, read = () => {}) {
  const hashes = new Uint8Array(Math.ceil(file.size / block) * 32);
  for (let start = 0, number = 0; start < file.size; start += block, number += 1) {
    signal.throwIfAborted();
    hashes.set(await digest(new Uint8Array(await file.slice(start, start + block).arrayBuffer())), number * 32);
    read((start + block) / file.size);
  }
  return hex(await digest(hashes));
}

export const pause = (time, signal) => new Promise((resolve, reject) => {
  const stop = () => { clearTimeout(timer); reject(signal.reason); };
  const timer = setTimeout(() => { signal.removeEventListener("abort", stop); resolve(); }, time);
  signal.addEventListener("abort", stop, { once: true });
});

/** Whether the same may succeed later: the agent does not answer, or is at something else. */
export const isPassing = (error) => error.code === "no-agent" || error.code === "busy" || error.code === "stopping";

/**
 * Uploads a file to `path`, `FOLDER:relative/path`, from where it was left. Answers `{path, added}`: where it is, and the lines that
 * were added to the selection. `told(state)` is called with `{offset, added, isWaiting, isChecking}` as far as that changes;
 * `clash(error)` answers "rename" or null where the name is taken. An agent that is gone is waited for.
 */
export async function upload(api, file, path, { signal, told, clash }) {
  const wanted = { path: { text: path, workingDirectory: "/" }, size: file.size, modified: file.lastModified };
  let existing = "refuse";
  const begin = async () => {
    for (;;) {
      try {
        return (await lasting(() => api.post("uploads", { ...wanted, existing }, signal))).upload;
      } catch (error) {
        if (error.code !== "already-exists" || existing === "rename") throw error;
        existing = await clash(error);
        if (!existing) throw signal.reason ?? new DOMException("skipped", "AbortError");
      }
    }
  };
  /** Does something, and again for as long as only time is in the way. */
  const lasting = async (work) => {
    for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
      try { return await work(); } catch (error) {
        if (!isPassing(error)) throw error;
        told({ isWaiting: true });
        await pause(wait, signal);
      }
    }
  };

  let now = await begin();
  told({ offset: now.offset, added: now.added, id: now.id, isWaiting: false });
  let size = 256 << 10;
  while (now.offset < file.size) {
    signal.throwIfAborted();
    const begun = performance.now();
    const part = file.slice(now.offset, Math.min(file.size, now.offset + size));
    try {
      now = (await api.put("uploads/part", { upload: now.id, offset: String(now.offset) }, await part.arrayBuffer(), signal)).upload;
      const time = performance.now() - begun;
      if (time < quick && part.size === size) size = Math.min(largest, size * 2);
      if (time > slow) size = Math.max(smallest, size / 2);
    } catch (error) {
      if (!isPassing(error) && error.code !== "range-not-satisfiable") throw error;
      // What has arrived of it is asked for; the next part is smaller, since this one may have been too slow.
      size = Math.max(smallest, size / 2);
      told({ isWaiting: true });
      if (isPassing(error)) await pause(500, signal);
      now = await begin();
    }
    told({ offset: now.offset, isWaiting: false });
  }
  told({ isChecking: true });
  const sum = await digestOf(file, signal);
  for (;;) {
    try {
      return await lasting(() => api.post("uploads/end", { upload: now.id, digest: sum, existing }, signal));
    } catch (error) {
      if (error.code !== "already-exists" || existing === "rename") throw error;
      existing = await clash(error);
      if (!existing) throw new DOMException("skipped", "AbortError");
    }
  }
}
