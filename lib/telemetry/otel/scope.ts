/** Name of the meter and the tracer. */
export const SCOPE = 'klock';
