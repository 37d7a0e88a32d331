/** Numbers on one page: 8 KiB at most, so that a list never holds up what goes with it. */
export const PAGE_NUMBERS = 1_000;

/** What the server knows of a session at the numbers of one renewal, part of it. */
export interface Page {
  readonly renewal: number;
  readonly held: readonly number[];
  readonly waiting: readonly number[];
  readonly last: boolean;
  /** The last answer made when the lists were: what is not listed was answered by then. */
  readonly lastMessage: number;
}

/** Cuts two lists into pages; always at least one, the last of them marked. */
export function pagesOf(
  { renewal, lastMessage }: Pick<Page, 'renewal' | 'lastMessage'>,
  held: readonly number[],
  waiting: readonly number[],
): Page[] {
  const pages: Page[] = [];
  const pairs = [
    ...slices(held).map((part) => ({ held: part, waiting: [] as readonly number[] })),
    ...slices(waiting).map((part) => ({ held: [] as readonly number[], waiting: part })),
  ];
  pairs.forEach((pair, index) =>
    pages.push({ renewal, ...pair, last: index === pairs.length - 1, lastMessage }),
  );
  return pages.length > 0 ? pages : [{ renewal, held: [], waiting: [], last: true, lastMessage }];
}

function slices(numbers: readonly number[]): (readonly number[])[] {
  const parts: (readonly number[])[] = [];
  for (let at = 0; at < numbers.length; at += PAGE_NUMBERS) parts.push(numbers.slice(at, at + PAGE_NUMBERS));
  return parts;
}
