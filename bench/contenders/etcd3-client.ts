import { addressOf, type Addresses } from './contender.js';
import { peer } from './peers.js';

export interface Etcd3Lock {
  acquire(): Promise<Etcd3Lock>;
  release(): Promise<void>;
}
export interface Etcd3Lease {
  grant(): Promise<string>;
  revoke(): Promise<void>;
}
export interface Etcd3 {
  lock(key: string): Etcd3Lock;
  lease(seconds: number): Etcd3Lease;
  if(key: string, target: 'Create', operator: '==', value: number): Etcd3Transaction;
  put(key: string): { value(text: string): { lease(id: string): object } };
  delete(): { key(key: string): { exec(): Promise<unknown> } };
  close(): void;
}
export interface Etcd3Transaction {
  then(...work: object[]): { commit(): Promise<{ succeeded: boolean }> };
}

export function etcd3(addresses: Addresses): Etcd3 {
  const { Etcd3 } = peer<{ Etcd3: new (options: { hosts: string }) => Etcd3 }>('etcd3');
  return new Etcd3({ hosts: `http://${addressOf(addresses, 'etcd')}` });
}
