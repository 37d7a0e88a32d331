/** Server ids remembered to notice an old one coming back; a real restart never reuses one. */
const REMEMBERED = 16;

/**
 * The server processes a client has met. A restart brings a new id and the old one never returns; one that does means that
 * several servers answer at this address, each with locks of its own, so that nothing excludes anything (WK-20).
 */
export class ServerHistory {
  private readonly met: string[] = [];
  private returned = false;

  /** Whether the server met last had been met before another: a configuration error, not a restart. */
  get alternating(): boolean {
    return this.returned;
  }

  /** Takes note of the server of a new session or of a mismatch. True if alternation shows now and did not before. */
  meet(serverId: string): boolean {
    if (serverId === '' || serverId === this.met.at(-1)) return false;
    const before = this.returned;
    this.returned = this.met.includes(serverId);
    this.met.push(serverId);
    if (this.met.length > REMEMBERED) this.met.shift();
    return this.returned && !before;
  }
}
