/** Server ids remembered to notice an old one coming back; a real restart never reuses one. */
const REMEMBERED = 16;

/**
 * The server processes a client has met. A restart brings a new id and the old one never returns; one that does means that
 * several servers answer at this address, each with locks of its own, so that nothing excludes anything (WK-20).
 */
export class ServerHistory {
  private readonly met: string[] = [];
  private back = false;

  /** Whether an id came back after another: a configuration error, not a restart. */
  get alternating(): boolean {
    return this.back;
  }

  /** The id met last. */
  get latest(): string | undefined {
    return this.met.at(-1);
  }

  /** Takes note of the server of a new session or of a mismatch. True if alternation shows for the first time. */
  meet(serverId: string): boolean {
    if (serverId === '' || serverId === this.latest) return false;
    const returned = this.met.includes(serverId);
    this.met.push(serverId);
    if (this.met.length > REMEMBERED) this.met.shift();
    if (!returned || this.back) return false;
    this.back = true;
    return true;
  }
}
