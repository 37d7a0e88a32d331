import type { Section } from '../core/index.js';
import type { LockedCall } from './locked-call.js';
import { handOver } from './locked-stream.js';

/**
 * The call as a promise: waits, runs, releases. The method's own error passes through as it is.
 * A method that resolves to a stream keeps its lock until the stream has ended.
 */
export async function asPromise(call: LockedCall): Promise<unknown> {
  // Every promise of this path is paid for by each call, and more where there are asynchronous contexts, as in most applications.
  let section: Section;
  try {
    const entering = call.begin();
    section = 'then' in entering ? await entering : entering;
  } catch (error) {
    return call.withoutLock(error).entered === 'skipped' ? undefined : await call.run(undefined);
  }
  call.note(section);
  let result: unknown;
  try {
    result = await (section.endsByItself ? untilMaxHold(call, section) : call.run(section));
  } catch (error) {
    await section.leave();
    throw error;
  }
  const stream = handOver(call, section, result);
  if (stream !== undefined) return stream;
  const leaving = section.leave();
  // Asked in the turn of the release: what its answer says cannot have disturbed the body any more.
  const loss = call.lossOf(section, result);
  await leaving;
  if (loss !== undefined) throw loss;
  return result;
}

/** `maxHoldMs` ends the call even if its body never settles; after any other loss the body ends first, so that its result is not lost too. */
function untilMaxHold(call: LockedCall, section: Section): Promise<unknown> {
  return new Promise((resolve, reject) => {
    Promise.resolve(call.run(section)).then(resolve, reject);
    void section.handle.done.then((end) => {
      if (end.end !== 'lost' || end.reason !== 'max-hold') return;
      const loss = call.lossOf(section);
      if (loss !== undefined) reject(loss);
    });
  });
}
