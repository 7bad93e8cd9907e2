// Small pictures, a few at a time, the latest first.
import { h, reference } from "./dom.js";

const atOnce = 2;
const waitingMost = 60;
const keptMost = 400;
const missedMost = 5000;

/** Browsers open six connections to a host; two are for these. What is scrolled away is not asked for, or aborted. */
export class Thumbnails {
  constructor(api) {
    this.api = api;
    this.pictures = new Map();
    this.missed = new Map();
    this.waiting = [];
    this.running = new Set();
  }

  /** Puts the entry's picture into `place` when there is one, as long as `isSeen()`. */
  show(entry, place, isSeen) {
    const key = `${entry.folder}:${entry.path}\n${entry.size} ${entry.modified}`;
    const known = this.pictures.get(key);
    if (known) {
      this.pictures.delete(key);
      this.pictures.set(key, known);
      this.#put(known, place);
      return;
    }
    // There is none for good, or none now: then it is asked for again after half a minute.
    const missed = this.missed.get(key);
    if (missed !== undefined && performance.now() < missed) return;
    // The row was only drawn again.
    const isAsked = (job) => job.key === key && job.place === place;
    if (this.waiting.some(isAsked) || [...this.running].some((job) => isAsked(job) && !job.controller.signal.aborted)) return;
    this.waiting.push({ entry, key, place, isSeen });
    while (this.waiting.length > waitingMost) this.waiting.shift();
    queueMicrotask(() => this.#pump());
  }

  close() {
    this.waiting = [];
    for (const job of this.running) job.controller.abort();
    for (const url of this.pictures.values()) URL.revokeObjectURL(url);
    this.pictures.clear();
  }

  #put(url, place) {
    const image = h("img", { src: url, alt: "", decoding: "async" });
    place.replaceChildren(image);
  }

  #pump() {
    for (const job of this.running) if (!job.isSeen()) job.controller.abort();
    while (this.running.size < atOnce && this.waiting.length > 0) {
      const job = this.waiting.pop();
      if (job.isSeen()) this.#load(job);
    }
  }

  async #load(job) {
    job.controller = new AbortController();
    this.running.add(job);
    try {
      const response = await fetch(this.api.thumbnailURL(reference(job.entry.folder, job.entry.path)),
        { signal: job.controller.signal, credentials: "same-origin" });
      if (response.ok) {
        const url = URL.createObjectURL(await response.blob());
        this.pictures.set(job.key, url);
        for (const [key, old] of this.pictures) {
          if (this.pictures.size <= keptMost) break;
          URL.revokeObjectURL(old);
          this.pictures.delete(key);
        }
        if (job.isSeen()) this.#put(url, job.place);
      } else {
        this.missed.set(job.key, response.status === 404 ? Infinity : performance.now() + 30_000);
        for (const key of this.missed.keys()) {
          if (this.missed.size <= missedMost) break;
          this.missed.delete(key);
        }
      }
    } catch (error) {
      if (error.name !== "AbortError") this.missed.set(job.key, performance.now() + 30_000);
    } finally {
      this.running.delete(job);
      this.#pump();
    }
  }
}
