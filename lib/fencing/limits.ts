/** Entries of one `Klock-Fence`: a flow that holds more locks than this at once is refused rather than described. */
export const MAX_FENCE_ENTRIES = 16;

/** Characters of one `Klock-Fence`: Node refuses requests whose headers exceed 16 KiB together. */
export const MAX_FENCE_HEADER_LENGTH = 8_192;

/** Decimal digits of the largest fence, 2^63 - 1. */
export const FENCE_DIGITS = 19;

/** Marks an in-process store keeps: about 200 bytes each. */
export const DEFAULT_MAX_MARKS = 100_000;

/** L2 marks of one L1 that a Redis store keeps: its script may have to look at all of them. */
export const MAX_REDIS_L2_MARKS = 4_096;

/** How long shared stores keep a mark after the last write: longer than any write stays under way. */
export const DEFAULT_KEEP_MS = 86_400_000;
