/** What a row of the benchmark says; only what its workload measures. */
export interface Figures {
  readonly pairsPerSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** CPU time of all client processes for 10,000 pairs. */
  readonly clientCpuMs?: number;
  /** CPU time of the server for 10,000 pairs. */
  readonly serverCpuMs?: number;
  /** Redis commands for each pair, those inside scripts included. */
  readonly commandsPerPair?: number;
  /** Largest share of a waiter, or process, over the smallest. */
  readonly workerSpread?: number;
  readonly processSpread?: number;
  readonly nsPerPair?: number;
  readonly bytes?: number;
  /** One measurement over another. */
  readonly times?: number;
  readonly ms?: number;
}

export interface Row {
  readonly workload: string;
  /** What differs between the measurements of one workload, such as `64 in flight`. */
  readonly at: string;
  readonly contender: string;
  readonly title: string;
  readonly figures: Figures;
  /** Why there are no figures. */
  readonly notMeasured?: string;
  /** Calls that failed during the measurement, and how. */
  readonly errors?: number;
  readonly firstError?: string;
}

/** The rows of a run, in the order they were measured. */
export class Results {
  readonly rows: Row[] = [];

  add(row: Row): void {
    this.rows.push(row);
  }

  find(workload: string, at: string, contender: string): Row | undefined {
    return this.rows.find((row) => row.workload === workload && row.at === at && row.contender === contender);
  }
}
