// The table of what each driver declares, in README.md between two marks: `npm run capabilities` compares it with the
// drivers, `-- --write` rewrites it. Reads the built package, and contacts no store.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const readme = fileURLToPath(new URL('../README.md', import.meta.url));
const BETWEEN = /(<!-- capabilities -->\n)[\s\S]*?(<!-- \/capabilities -->)/;

/** README.md with the table as the drivers are now. */
async function readmeWithTable() {
  const [{ memoryDriver }, { klockDriver }, { redisDriver }, { etcdDriver }, { capabilityTable }, { Redis }] =
    await Promise.all([
      import('klock/core'),
      import('klock/client'),
      import('klock/redis'),
      import('klock/etcd'),
      import('klock/testing'),
      import('ioredis'),
    ]);
  const client = new Redis({ lazyConnect: true });
  const table = capabilityTable({
    memory: memoryDriver().capabilities,
    klock: klockDriver({ url: 'klock://127.0.0.1:1' }).capabilities,
    Redis: redisDriver(client).capabilities,
    etcd: etcdDriver({ hosts: '127.0.0.1:1' }).capabilities,
  });
  client.disconnect();
  return readFileSync(readme, 'utf8').replace(BETWEEN, `$1\n${table}\n\n$2`);
}

// The formatter pads tables.
const plain = (text) => text.replace(/[ -]+/g, ' ');

const text = await readmeWithTable();
if (process.argv.includes('--write')) {
  writeFileSync(readme, text);
} else if (plain(text) !== plain(readFileSync(readme, 'utf8'))) {
  console.error('README.md does not show what the drivers declare: npm run capabilities -- --write');
  process.exitCode = 1;
}
