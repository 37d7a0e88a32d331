/** Aligned columns; the first is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(
      title.length,
      ...rows.map((row) => (row.length === head.length ? (row[column] ?? '').length : 0)),
    ),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 || cells.length < head.length
          ? cell.padEnd(column === 0 ? width : 0)
          : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  return [line(head), ...rows.map(line)].join('\n');
}

/** Three figures that count: 123,000 · 12.3 · 0.123 */
export function short(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const rounded = Number(value.toPrecision(3));
  return Math.abs(rounded) >= 1_000 ? rounded.toLocaleString('en') : String(rounded);
}
