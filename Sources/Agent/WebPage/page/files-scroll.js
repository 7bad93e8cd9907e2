// Which rows of a long list are seen: pure.

/** Browsers stop at some 17 to 33 million pixels, less when zoomed. */
const tallest = 6_000_000;

/**
 * The window into `count` rows of `row` pixels each. Rows that are taller together than a browser's element can be are
 * scrolled one to one by small steps, and in proportion by long ones, as when the bar is dragged.
 */
export class ScrollWindow {
  constructor() {
    this.count = 0;
    this.row = 36;
    this.view = 0;
    /** Pixels of the whole list above what is seen. */
    this.top = 0;
    this.lastBar = 0;
  }

  get whole() { return this.count * this.row; }
  /** How tall the element is that makes the scroll bar. */
  get spacer() { return Math.min(this.whole, tallest); }
  get farthest() { return Math.max(0, this.whole - this.view); }
  get #barFarthest() { return Math.max(0, this.spacer - this.view); }

  /** Where the bar belongs for what is seen. */
  get bar() {
    if (this.whole <= tallest) return this.top;
    return Math.round((this.top / this.farthest) * this.#barFarthest);
  }

  /** The bar was moved there. */
  scrolled(bar) {
    const step = bar - this.lastBar;
    this.lastBar = bar;
    if (this.whole <= tallest) this.top = bar;
    else if (bar <= 0) this.top = 0;
    else if (bar >= this.#barFarthest - 1) this.top = this.farthest;
    else if (Math.abs(step) <= this.view * 2) this.top += step;
    else this.top = (bar / this.#barFarthest) * this.farthest;
    this.#clamp();
  }

  resize(count, row, view) {
    const first = this.top / this.row;
    this.count = count;
    this.row = row;
    this.view = view;
    this.top = first * row;
    this.#clamp();
  }

  /** Moves as little as is needed for the row to be seen whole. */
  reveal(index) {
    const start = index * this.row;
    if (start < this.top) this.top = start;
    else if (start + this.row > this.top + this.view) this.top = start + this.row - this.view;
    this.#clamp();
  }

  /** The rows that are to be drawn, last one included. */
  get first() { return Math.max(0, Math.floor(this.top / this.row) - 3); }
  get last() { return Math.min(this.count - 1, Math.ceil((this.top + this.view) / this.row) + 2); }
  get perPage() { return Math.max(1, Math.floor(this.view / this.row) - 1); }

  #clamp() { this.top = Math.min(Math.max(0, this.top), this.farthest); }
}
