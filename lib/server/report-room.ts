/** UTF-16 units of text in one report: a message holds 64 KiB, a unit takes up to three bytes. Who does not fit is counted only. */
const MAX_REPORT_TEXT = 16_000;
/** What an entry costs beside its texts. */
const ENTRY_TEXT = 24;

/** Whether one more entry of these texts fits into the report it was made for. */
export function reportRoom(): (texts: readonly string[]) => boolean {
  let room = MAX_REPORT_TEXT;
  return (texts) => {
    room -= texts.reduce((sum, text) => sum + text.length, ENTRY_TEXT);
    return room >= 0;
  };
}
