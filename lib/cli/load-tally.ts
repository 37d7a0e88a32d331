/** What the workers of a load run have seen. Memory grows by eight bytes a pair. */
export class LoadTally {
  private readonly latenciesMs: number[] = [];
  private failed = 0;
  private first: string | undefined = undefined;

  success(latencyMs: number): void {
    this.latenciesMs.push(latencyMs);
  }

  failure(message: string): void {
    this.failed++;
    this.first ??= message;
  }

  get successes(): number {
    return this.latenciesMs.length;
  }

  /** Lines to print, figures of a run that took `elapsedMs`. */
  lines(elapsedMs: number): readonly string[] {
    const { successes, failed } = this;
    const tried = successes + failed;
    return [
      `success      ${successes}`,
      `errors       ${failed}`,
      `first error  ${this.first ?? 'none'}`,
      `error rate   ${(tried === 0 ? 0 : (failed / tried) * 100).toFixed(2)} %`,
      `throughput   ${((successes / elapsedMs) * 1_000).toFixed(1)} pairs/s`,
      `latency      ${this.latencyLine()}`,
    ];
  }

  private latencyLine(): string {
    const sorted = Float64Array.from(this.latenciesMs).sort();
    if (sorted.length === 0) return 'none';
    const sum = sorted.reduce((total, latency) => total + latency, 0);
    const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] as number;
    const shown = [
      ['avg', sum / sorted.length],
      ['p50', at(0.5)],
      ['p95', at(0.95)],
      ['p99', at(0.99)],
    ] as const;
    return shown.map(([name, ms]) => `${name} ${ms.toFixed(3)} ms`).join('  ');
  }
}
