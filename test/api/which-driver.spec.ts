import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

it('the README shows what each driver declares (`npm run capabilities -- --write` after a wanted change)', async () => {
  const script = fileURLToPath(new URL('../../scripts/capabilities.mjs', import.meta.url));
  await expect(promisify(execFile)(process.execPath, [script])).resolves.toBeDefined();
});
