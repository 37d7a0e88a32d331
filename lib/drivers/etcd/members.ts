/**
 * Which member is asked next. One is asked until it fails; then the next takes over for everybody.
 * Where a client begins is drawn by lot, so that clients spread over the cluster.
 */
export class Members {
  private at: number;

  constructor(
    readonly size: number,
    lot: number,
  ) {
    this.at = Math.floor(lot * size) % size;
  }

  get current(): number {
    return this.at;
  }

  /** A call to `member` failed. Others that still wait for it will say so too, and move nothing. */
  failed(member: number): void {
    if (member === this.at) this.at = (member + 1) % this.size;
  }
}
