// Which rows of a long list are seen: pure.

/** Browsers stop at some 17 to 33 million pixels, less when zoomed. */
const tallest = 6_000_000;

/**
 * The window into `count` entries, `columns` of them in each row of `row` pixels. Rows that are taller together than a browser's element can be are
 * scrolled one to one by small steps, and in proportion by long ones, as when the bar is dragged.
 */
export class ScrollWindow {
  constructor() {
    this.count = 0;
    this.row = 36;
    this.columns = 1;
    this.view = 0;
    /** Pixels of the whole list above what is seen. */
    this.top = 0;
    this.lastBar = 0;
  }

  get rows() { return Math.ceil(this.count / this.columns); }
  get whole() { return this.rows * this.row; }
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

  resize(count, row, view, columns = 1) {
    const first = this.top / this.row;
    this.top = columns === this.columns ? first * row : Math.floor(first * this.columns / columns) * row;
    this.count = count;
    this.row = row;
    this.view = view;
    this.columns = columns;
    this.#clamp();
  }

  /** Moves as little as is needed for the entry's row to be seen whole. */
  reveal(index) {
    const start = Math.floor(index / this.columns) * this.row;
    if (start < this.top) this.top = start;
    else if (start + this.row > this.top + this.view) this.top = start + this.row - this.view;
    this.#clamp();
  }

  /** The rows that are to be drawn, last one included: some more than are seen, of tall ones fewer. */
  get firstRow() { return Math.max(0, Math.floor(this.top / this.row) - (this.columns > 1 ? 1 : 3)); }
  get lastRow() { return Math.min(this.rows - 1, Math.ceil((this.top + this.view) / this.row) + (this.columns > 1 ? 0 : 2)); }
  /** The entries in them. */
  get first() { return this.firstRow * this.columns; }
  get last() { return Math.min(this.count, (this.lastRow + 1) * this.columns) - 1; }
  /** How many entries a page is further. */
  get perPage() { return Math.max(1, Math.floor(this.view / this.row) - 1) * this.columns; }

  /** Where a key leads from an entry; null for a key that leads nowhere. Above the first row and below the last is where one is. */
  moved(from, key) {
    const last = this.count - 1;
    switch (key) {
      case "ArrowLeft": return this.columns > 1 ? from - 1 : null;
      case "ArrowRight": return this.columns > 1 ? from + 1 : null;
      case "ArrowUp": return from < this.columns ? from : from - this.columns;
      // A last row that is not full is reached all the same.
      case "ArrowDown": return Math.floor(from / this.columns) === Math.floor(last / this.columns) ? from : Math.min(last, from + this.columns);
      case "PageUp": return from - this.perPage;
      case "PageDown": return from + this.perPage;
      case "Home": return 0;
      case "End": return last;
      default: return null;
    }
  }

  #clamp() { this.top = Math.min(Math.max(0, this.top), this.farthest); }
}
