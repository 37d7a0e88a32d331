/** RFC 3339 in UTC without trailing zeros, as `expires_at` has it. */
export function rfc3339(wallMs: number): string {
  return new Date(Math.floor(wallMs)).toISOString().replace(/\.?0*Z$/, 'Z');
}
