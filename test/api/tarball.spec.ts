import { readFileSync } from 'node:fs';
import { entryPoints, pack, temporaryFolder } from './pack.js';

describe('the packed tarball', () => {
  let files: string[];

  beforeAll(async () => {
    ({ files } = await pack(temporaryFolder('pack')));
  }, 60_000);

  it('holds the two builds, the licence, the texts and the proto, and nothing else', () => {
    const wanted = [
      /^dist\/(esm|cjs)\/.+\.(js|js\.map|d\.ts)$/,
      /^dist\/cjs\/package\.json$/,
      /^proto\/[^/]+\.proto$/,
      /^(package\.json|LICENSE|README\.md|CHANGELOG\.md)$/,
    ];
    expect(files.filter((file) => !wanted.some((pattern) => pattern.test(file)))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/cjs/package.json']),
    );
  });

  it('holds no test', () => {
    expect(files.filter((file) => /\.spec\.|(^|\/)test\//.test(file))).toEqual([]);
  });

  it('holds program and types of every entry point, in both builds', () => {
    for (const entry of entryPoints()) {
      const module = entry === 'klock' ? 'index' : entry.replace('klock/', 'entries/');
      const wanted = ['esm', 'cjs'].flatMap((kind) =>
        ['js', 'd.ts'].map((end) => `dist/${kind}/${module}.${end}`),
      );
      expect(files).toEqual(expect.arrayContaining(wanted));
    }
  });

  it('names no folder of the machine that built it', () => {
    const here = process.cwd();
    const built = files.filter((file) => file.startsWith('dist/'));
    expect(built.filter((file) => readFileSync(file, 'utf8').includes(here))).toEqual([]);
  });
});
