import { Acquisition, type Acquired } from './acquisition.js';
import type { CountedHandle } from './counted-handle.js';
import { currentFrame } from './flow.js';
import { HeldSection } from './held-section.js';

/** The acquire of a section, whose caller waits for one promise: the section is made where the answer is read. */
export class SectionAcquisition extends Acquisition {
  private readonly parent = currentFrame();

  override made(acquired: Acquired): HeldSection {
    // Busy is an answer to `tryAcquire` only.
    const handle = acquired as CountedHandle;
    return new HeldSection(this.instance, handle, this.key, this.terms.label, this.parent);
  }

  override failed(): void {
    this.instance.leaveSection();
  }
}
