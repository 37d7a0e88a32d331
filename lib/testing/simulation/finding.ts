/** The invariants of design.md; `crash` stands for an error nobody expected. */
export type Invariant =
  'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10' | 'I11' | 'I12' | 'crash';

/** A breach of an invariant, at an instant of true time. */
export interface Finding {
  readonly invariant: Invariant;
  readonly message: string;
  readonly atMs: number;
}

/** Takes a breach; the run ends at the first. */
export type Report = (invariant: Invariant, message: string) => void;
