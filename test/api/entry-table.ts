/** The table of entry points in the design: what each may load at import, and what its types may name besides. */
interface Entry {
  readonly loads: readonly string[];
  readonly types?: readonly string[];
}

const nest = ['@nestjs/common', '@nestjs/core', 'rxjs', 'reflect-metadata'];

export const ENTRY_TABLE: Readonly<Record<string, Entry>> = {
  klock: { loads: nest },
  'klock/core': { loads: [] },
  'klock/client': { loads: ['@grpc/grpc-js'] },
  'klock/etcd': { loads: ['@grpc/grpc-js'] },
  'klock/server': { loads: ['@grpc/grpc-js'], types: ['@nestjs/microservices'] },
  'klock/redis': { loads: [] },
  'klock/fencing': { loads: [] },
  'klock/otel': { loads: ['@opentelemetry/api'] },
  'klock/prometheus': { loads: ['prom-client'] },
  'klock/testing': { loads: [] },
  // What klock itself loads: its module is in there.
  'klock/testing/nest': { loads: nest },
};
