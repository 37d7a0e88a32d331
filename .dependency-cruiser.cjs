// The layers: each folder of lib/ imports itself and the folders named here, through their index.ts only.
const MAY_IMPORT = {
  core: [], // vocabulary, ports, parts every side needs; no I/O, no npm package
  engine: ['core'],
  session: ['core'],
  rpc: ['core'],
  'redis-client': ['core'],
  'drivers/kit': ['core', 'engine'],
  client: ['core', 'session', 'rpc'],
  server: ['core', 'engine', 'session', 'rpc'],
  'drivers/memory': ['core', 'engine', 'drivers/kit'],
  'drivers/klock': ['core', 'client', 'drivers/kit'],
  'drivers/redis': ['core', 'redis-client', 'drivers/kit'],
  'drivers/etcd': ['core', 'drivers/kit'],
  fencing: ['core', 'redis-client'],
  'telemetry/otel': ['core'],
  'telemetry/prometheus': ['core'],
  testing: ['core', 'engine', 'session', 'drivers/kit', 'drivers/memory'],
  nest: ['core', 'fencing', 'drivers/memory'],
  'nest-server': ['core', 'server', 'drivers/memory'],
  'nest-testing': ['core', 'nest', 'testing'],
  cli: ['core', 'client', 'server', 'drivers/klock'],
};

/** Only by `import()`: loaded when the options ask for it, so that nobody pays for a back end not used. */
const MAY_IMPORT_LATE = {
  nest: ['drivers/klock', 'drivers/redis', 'drivers/etcd', 'nest-server'],
};

/** Entry points (lib/index.ts is ''): what each one gives out. */
const ENTRY_MAY_IMPORT = {
  '': ['core', 'drivers/memory', 'fencing', 'nest'],
  core: ['core', 'engine', 'drivers/memory'],
  client: ['core', 'client', 'drivers/klock'],
  server: ['core', 'server', 'nest-server'],
  redis: ['core', 'redis-client', 'drivers/redis'],
  etcd: ['core', 'drivers/etcd'],
  fencing: ['core', 'fencing', 'redis-client'],
  otel: ['core', 'telemetry/otel'],
  prometheus: ['core', 'telemetry/prometheus'],
  testing: ['core', 'testing'],
  'testing/nest': ['core', 'nest-testing'],
};

/** npm packages: who may load them. Anything not named here is for tests and tools only. */
const NPM_MAY_BE_LOADED_BY = {
  '@nestjs/': ['nest', 'nest-server', 'nest-testing'],
  'reflect-metadata': ['nest', 'nest-server', 'nest-testing'],
  rxjs: ['nest'],
  '@grpc/': ['rpc', 'client', 'server', 'drivers/etcd'],
  protobufjs: ['rpc'],
  long: ['rpc'],
  '@opentelemetry/': ['telemetry/otel'],
  'prom-client': ['telemetry/prometheus'],
};

const SPEC = '\\.spec(-support)?\\.ts$';
const own = (layer) => `^lib/${layer}/`;
const anyOf = (parts) => `(${parts.join('|')})`;
const escaped = (text) => text.replace(/[/.]/g, '\\$&');
const entryFile = (name) => (name === '' ? '^lib/index\\.ts$' : `^lib/entries/${name}\\.ts$`);
const indexOf = (layers) => layers.map((layer) => `^lib/${layer}/(index|api)\\.ts$`);

const layerRules = Object.entries(MAY_IMPORT).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  comment: `${layer} may import only: ${allowed.join(', ') || 'itself'}`,
  severity: 'error',
  from: { path: own(layer), pathNot: SPEC },
  to: {
    path: '^lib/',
    pathNot: anyOf([own(layer), ...[...allowed, ...(MAY_IMPORT_LATE[layer] ?? [])].map(own)]),
  },
}));

const lateRules = Object.entries(MAY_IMPORT_LATE).map(([layer, late]) => ({
  name: `layer-${layer}-late`,
  comment: `${layer} loads these by import() only: ${late.join(', ')}`,
  severity: 'error',
  from: { path: own(layer), pathNot: SPEC },
  to: {
    path: anyOf(late.map(own)),
    dependencyTypesNot: ['type-only'],
    dynamic: false,
  },
}));

const entryRules = Object.entries(ENTRY_MAY_IMPORT).map(([name, allowed]) => ({
  name: `entry-${name || 'root'}`,
  comment: `the entry point gives out: ${allowed.join(', ')}`,
  severity: 'error',
  from: { path: entryFile(name) },
  to: { path: '^lib/', pathNot: anyOf(indexOf(allowed)) },
}));

const indexRules = Object.keys(MAY_IMPORT).map((layer) => ({
  name: `through-index-${layer}`,
  comment: 'one folder sees another through its index.ts only',
  severity: 'error',
  from: { path: '^lib/', pathNot: anyOf([own(layer), SPEC]) },
  // api.ts is the part of core's index that is everybody's: the package's entries give it out
  to: { path: own(layer), pathNot: `^lib/${layer}/(index|api)\\.ts$` },
}));

const npmRules = Object.entries(NPM_MAY_BE_LOADED_BY).map(([name, layers]) => ({
  name: `npm-${name.replace(/\W+/g, '-')}`,
  comment: `${name} is loaded by: ${layers.join(', ')}`,
  severity: 'error',
  from: { path: '^lib/', pathNot: anyOf([SPEC, ...layers.map(own)]) },
  to: { path: `(^|/)node_modules/${escaped(name)}` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment:
        'files of one layer may name each other as types, which is nothing at run time; between layers, see above',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: { path: '^(lib|sample-app)/' },
      to: { couldNotResolve: true },
    },
    ...layerRules,
    ...lateRules,
    ...entryRules,
    ...indexRules,
    ...npmRules,
    {
      name: 'npm-others',
      comment: 'a package not in NPM_MAY_BE_LOADED_BY is for tests and tools',
      severity: 'error',
      from: { path: '^lib/', pathNot: SPEC },
      to: {
        path: '(^|/)node_modules/',
        pathNot: Object.keys(NPM_MAY_BE_LOADED_BY).map((name) => `(^|/)node_modules/${escaped(name)}`),
      },
    },
    {
      name: 'layer-unknown',
      comment: 'every folder of lib/ stands in MAY_IMPORT, every entry point in ENTRY_MAY_IMPORT',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: [...Object.keys(MAY_IMPORT).map(own), ...Object.keys(ENTRY_MAY_IMPORT).map(entryFile)],
      },
      to: {},
    },
    {
      name: 'lib-not-to-outside',
      severity: 'error',
      from: { path: '^lib/', pathNot: SPEC },
      to: { path: '^(sample-app|test|bench|scripts|proto)/' },
    },
    {
      name: 'sample-app-by-package-name',
      comment: 'the sample application uses klock as its users do',
      severity: 'error',
      from: { path: '^sample-app/' },
      to: { path: '^lib/', pathNot: Object.keys(ENTRY_MAY_IMPORT).map(entryFile) },
    },
    {
      name: 'specs-see-no-foreign-internals',
      comment:
        'a spec may look into its own folder; others it sees through their index.ts, or the fake clock',
      severity: 'error',
      from: { path: '^lib/((drivers/)?[^/]+)/.+\\.spec(-support)?\\.ts$' },
      to: {
        path: '^lib/',
        pathNot: [
          '^lib/$1/',
          '/index\\.ts$',
          '^lib/core/(fake-clock|scripted-driver)\\.ts$',
          '^lib/entries/',
        ],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|test/api/compat)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
      extensions: ['.ts', '.js', '.mjs'],
    },
  },
};
