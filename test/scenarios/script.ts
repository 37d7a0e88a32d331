/**
 * Engine scenarios as text. A file holds scenarios; a scenario holds paragraphs:
 *
 *   == [K-013] title: condition and outcome
 *   # Prose, kept as it is.
 *
 *   acquire b r1 t/x wait=500
 *   ----
 *   b/r1 queued call 2
 *   (every effect, then the whole printed state)
 *
 * Commands (`now` is written as the paragraph before left it; times are milliseconds):
 *
 *   engine reserved=N last=N block=N waiters=N waiters-per-key=N sessions=N locks=N kept-keys=N
 *          remember=N remember-ms=N remember-sessions=N      first command of a scenario, optional
 *   open S lease=MS [client=NAME] · renew S · close S [reason=client_close]
 *   acquire S R KEY [wait=MS|forever] [keep-place=MS]        no wait: asks once; calls are numbered 1, 2, …
 *   detach CALL [keep=MS] · cancel S R
 *   release S TOKEN [id=ID] [keep=MS]                        ID defaults to rel-TOKEN
 *   revoke KEY [fence=N] [below=yes]
 *   drain · reserve N · hold until=MS|forever [only-until=MS]
 *   advance MS      time passes and the engine is woken at each instant it asked for
 *   late MS         time passes and no timer fires
 *   wake            at the present instant
 *
 * KEY is `l1` or `l1/l2`. Tokens are `tok-FENCE`. With KLOCK_REWRITE_SCENARIOS=1 the expectations are written anew:
 * read the difference before committing it.
 */
export interface Paragraph {
  readonly commands: readonly string[];
  readonly prose: readonly string[];
  expected: string;
}

export interface Scenario {
  readonly title: string;
  readonly paragraphs: readonly Paragraph[];
}

export function parseScript(text: string): Scenario[] {
  return text
    .split(/^== /m)
    .slice(1)
    .map((part) => {
      const [title = '', ...rest] = part.split('\n');
      return { title: title.trim(), paragraphs: parseParagraphs(rest.join('\n')) };
    });
}

function parseParagraphs(text: string): Paragraph[] {
  const blocks = text.split(/\n{2,}/).map((block) => block.trim());
  const paragraphs: Paragraph[] = [];
  let prose: string[] = [];
  for (const block of blocks) {
    const lines = block.split('\n').filter((line) => line !== '');
    const comments = lines.filter((line) => line.startsWith('#'));
    const rest = lines.filter((line) => !line.startsWith('#'));
    prose.push(...comments);
    if (rest.length === 0) continue;
    const rule = rest.indexOf('----');
    const commands = rule === -1 ? rest : rest.slice(0, rule);
    paragraphs.push({ commands, prose, expected: rule === -1 ? '' : rest.slice(rule + 1).join('\n') });
    prose = [];
  }
  return paragraphs;
}

export function printScript(preamble: string, scenarios: readonly Scenario[]): string {
  const texts = scenarios.map(
    ({ title, paragraphs }) => `== ${title}\n${paragraphs.map(printParagraph).join('\n\n')}\n`,
  );
  return `${preamble}${texts.join('\n')}`;
}

function printParagraph({ prose, commands, expected }: Paragraph): string {
  const comments = prose.length === 0 ? [] : [...prose, ''];
  return [...comments, ...commands, '----', expected].join('\n');
}
