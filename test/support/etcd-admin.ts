/** What an operator does with etcdctl, over etcd's JSON gateway. */
export class EtcdAdmin {
  constructor(private readonly endpoint: string) {}

  async put(key: string, value = 'v'): Promise<bigint> {
    return revision(await this.ask('kv/put', { key: encoded(key), value: encoded(value) }));
  }

  async remove(key: string): Promise<number> {
    const { deleted } = await this.ask('kv/deleterange', { key: encoded(key) });
    return Number(deleted ?? 0);
  }

  /** Names of all keys that begin with `prefix`. */
  async keys(prefix: string): Promise<string[]> {
    const { kvs } = await this.ask('kv/range', {
      key: encoded(prefix),
      range_end: encoded(prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)),
      keys_only: true,
    });
    return ((kvs ?? []) as { key: string }[]).map(({ key }) => Buffer.from(key, 'base64').toString());
  }

  async value(key: string): Promise<string | undefined> {
    const { kvs } = await this.ask('kv/range', { key: encoded(key) });
    const value = (kvs as { value: string }[] | undefined)?.[0]?.value;
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
  }

  async leases(): Promise<bigint[]> {
    const { leases } = await this.ask('lease/leases', {});
    return ((leases ?? []) as { ID: string }[]).map(({ ID }) => BigInt(ID));
  }

  async revoke(lease: bigint): Promise<void> {
    await this.ask('lease/revoke', { ID: lease.toString() });
  }

  async revokeAll(): Promise<void> {
    for (const lease of await this.leases()) await this.revoke(lease);
  }

  async head(): Promise<bigint> {
    return revision(await this.ask('kv/range', { key: encoded('none') }));
  }

  /** Forgets everything before the newest revision, on disk too. */
  async compact(): Promise<bigint> {
    const head = await this.head();
    await this.ask('kv/compaction', { revision: head.toString(), physical: true });
    return head;
  }

  /** From now on only `root` with this password, and `user` with the same, may do anything; `user` only below `klock/`. */
  async enableAuth(password: string): Promise<void> {
    for (const name of ['root', 'app']) {
      await this.ask('auth/user/add', { name, password });
      await this.ask('auth/role/add', { name });
    }
    const perm = { permType: 2, key: encoded('klock/'), range_end: encoded('klock0') };
    await this.ask('auth/role/grant', { name: 'app', perm });
    for (const name of ['root', 'app']) await this.ask('auth/user/grant', { user: name, role: name });
    await this.ask('auth/enable', {});
  }

  private async ask(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`http://${this.endpoint}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`etcd refused ${path}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function revision(answer: Record<string, unknown>): bigint {
  return BigInt((answer.header as { revision: string }).revision);
}
