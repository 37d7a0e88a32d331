/** What the demonstration says: each statement was checked, and is printed as true or not. */
export class Statements {
  private wrong = 0;
  private total = 0;

  constructor(private readonly print: (line: string) => void) {}

  chapter(title: string): void {
    this.print(`\n${title}`);
  }

  note(text: string): void {
    this.print(`   ${text}`);
  }

  check(statement: string, isTrue: boolean): void {
    this.total += 1;
    if (!isTrue) this.wrong += 1;
    this.print(` ${isTrue ? '✓' : '✗ NOT TRUE:'} ${statement}`);
  }

  get allTrue(): boolean {
    return this.wrong === 0 && this.total > 0;
  }

  summary(): string {
    if (this.allTrue) return `All ${this.total} statements were true.`;
    return `${this.wrong} of ${this.total} statements were not true.`;
  }
}

/** 1,234 */
export const counted = (value: number): string => Math.round(value).toLocaleString('en-US');
