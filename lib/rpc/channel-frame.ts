import type { Codec } from './codec.js';
import {
  readAnswer,
  readOperation,
  writeAnswer,
  writeOperation,
  type ChannelAnswer,
  type ChannelOperation,
} from './channel-messages.js';
import { codec } from './codec.js';
import { readErrorStatus, writeErrorStatus, type WireError } from './error-status.js';
import type { WireReader } from './wire-reader.js';
import type { WireWriter } from './wire-writer.js';

/** First frame of a stream: opens a session, or resumes one. */
export interface ChannelHello {
  readonly protocolVersion: string;
  readonly expectedServer: string;
  readonly sessionId: string;
  readonly leaseMs: number;
  readonly incarnation: number;
  readonly client: string;
  /** Host name and process; '' where they are not told. */
  readonly host: string;
}

export interface ChannelRenewal {
  readonly number: number;
  readonly lastOperation: number;
  readonly lastMessage: number;
  readonly grants: number;
  readonly digest: bigint;
  readonly asked: number;
  readonly askedSum: number;
}

export interface ChannelWelcome {
  readonly protocolVersion: string;
  readonly serverId: string;
  readonly sessionId: string;
  readonly leaseMs: number;
  readonly incarnation: number;
}

export interface ChannelRenewed {
  readonly number: number;
  readonly leaseMs: number;
  readonly error: WireError | undefined;
}

export interface ChannelPage {
  readonly renewal: number;
  readonly held: readonly number[];
  readonly waiting: readonly number[];
  readonly last: boolean;
  readonly lastMessage: number;
}

export interface ClientFrame {
  readonly hello: ChannelHello | undefined;
  readonly received: number;
  readonly renewal: ChannelRenewal | undefined;
  readonly firstOperation: number;
  readonly operations: readonly ChannelOperation[];
  readonly goodbye: boolean;
}

export interface ServerFrame {
  readonly welcome: ChannelWelcome | undefined;
  readonly received: number;
  readonly renewed: ChannelRenewed | undefined;
  readonly pages: readonly ChannelPage[];
  readonly firstMessage: number;
  readonly answers: readonly ChannelAnswer[];
  readonly ended: WireError | undefined;
}

function writeClientFrame(writer: WireWriter, frame: ClientFrame): void {
  if (frame.hello !== undefined) nested(writer, 10, frame.hello, writeHello);
  writer.number(16, frame.received);
  if (frame.renewal !== undefined) nested(writer, 26, frame.renewal, writeRenewal);
  writer.number(32, frame.firstOperation);
  for (const operation of frame.operations) {
    const start = writer.begin(42);
    writeOperation(writer, operation);
    writer.end(start);
  }
  writer.bool(48, frame.goodbye);
}

function readClientFrame(reader: WireReader): ClientFrame {
  let hello: ChannelHello | undefined;
  let renewal: ChannelRenewal | undefined;
  let [received, firstOperation, goodbye] = [0, 0, false];
  const operations: ChannelOperation[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 42) operations.push(reader.nested(readOperation));
    else if (tag === 16) received = reader.number();
    else if (tag === 32) firstOperation = reader.number();
    else if (tag === 26) renewal = reader.nested(readRenewal);
    else if (tag === 10) hello = reader.nested(readHello);
    else if (tag === 48) goodbye = reader.bool();
    else reader.skip(tag);
  }
  return { hello, received, renewal, firstOperation, operations, goodbye };
}

function writeServerFrame(writer: WireWriter, frame: ServerFrame): void {
  if (frame.welcome !== undefined) nested(writer, 10, frame.welcome, writeWelcome);
  writer.number(16, frame.received);
  if (frame.renewed !== undefined) nested(writer, 26, frame.renewed, writeRenewed);
  for (const page of frame.pages) nested(writer, 34, page, writePage);
  writer.number(40, frame.firstMessage);
  for (const answer of frame.answers) {
    const start = writer.begin(50);
    writeAnswer(writer, answer);
    writer.end(start);
  }
  if (frame.ended !== undefined) nested(writer, 58, frame.ended, writeErrorStatus);
}

function readServerFrame(reader: WireReader): ServerFrame {
  let welcome: ChannelWelcome | undefined;
  let renewed: ChannelRenewed | undefined;
  let ended: WireError | undefined;
  let [received, firstMessage] = [0, 0];
  const pages: ChannelPage[] = [];
  const answers: ChannelAnswer[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 50) answers.push(reader.nested(readAnswer));
    else if (tag === 16) received = reader.number();
    else if (tag === 40) firstMessage = reader.number();
    else if (tag === 26) renewed = reader.nested(readRenewed);
    else if (tag === 34) pages.push(reader.nested(readPage));
    else if (tag === 10) welcome = reader.nested(readWelcome);
    else if (tag === 58) ended = reader.nested(readErrorStatus);
    else reader.skip(tag);
  }
  return { welcome, received, renewed, pages, firstMessage, answers, ended };
}

function writeHello(writer: WireWriter, hello: ChannelHello): void {
  writer.string(10, hello.protocolVersion);
  writer.string(18, hello.expectedServer);
  writer.string(26, hello.sessionId);
  writer.number(32, hello.leaseMs);
  writer.number(40, hello.incarnation);
  writer.string(50, hello.client);
  writer.string(58, hello.host);
}

function readHello(reader: WireReader): ChannelHello {
  let [protocolVersion, expectedServer, sessionId, client, host] = ['', '', '', '', ''];
  let [leaseMs, incarnation] = [0, 0];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) protocolVersion = reader.string();
    else if (tag === 18) expectedServer = reader.string();
    else if (tag === 26) sessionId = reader.string();
    else if (tag === 32) leaseMs = reader.number();
    else if (tag === 40) incarnation = reader.number();
    else if (tag === 50) client = reader.string();
    else if (tag === 58) host = reader.string();
    else reader.skip(tag);
  }
  return { protocolVersion, expectedServer, sessionId, leaseMs, incarnation, client, host };
}

function writeRenewal(writer: WireWriter, renewal: ChannelRenewal): void {
  writer.number(8, renewal.number);
  writer.number(16, renewal.lastOperation);
  writer.number(24, renewal.lastMessage);
  writer.number(32, renewal.grants);
  writer.uint64(40, renewal.digest);
  writer.number(48, renewal.asked);
  writer.number(56, renewal.askedSum);
}

function readRenewal(reader: WireReader): ChannelRenewal {
  let [number, lastOperation, lastMessage, grants, asked, askedSum] = [0, 0, 0, 0, 0, 0];
  let digest = 0n;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) number = reader.number();
    else if (tag === 16) lastOperation = reader.number();
    else if (tag === 24) lastMessage = reader.number();
    else if (tag === 32) grants = reader.number();
    else if (tag === 40) digest = reader.uint64();
    else if (tag === 48) asked = reader.number();
    else if (tag === 56) askedSum = reader.number();
    else reader.skip(tag);
  }
  return { number, lastOperation, lastMessage, grants, digest, asked, askedSum };
}

function writeWelcome(writer: WireWriter, welcome: ChannelWelcome): void {
  writer.string(10, welcome.protocolVersion);
  writer.string(18, welcome.serverId);
  writer.string(26, welcome.sessionId);
  writer.number(32, welcome.leaseMs);
  writer.number(40, welcome.incarnation);
}

function readWelcome(reader: WireReader): ChannelWelcome {
  let [protocolVersion, serverId, sessionId] = ['', '', ''];
  let [leaseMs, incarnation] = [0, 0];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 10) protocolVersion = reader.string();
    else if (tag === 18) serverId = reader.string();
    else if (tag === 26) sessionId = reader.string();
    else if (tag === 32) leaseMs = reader.number();
    else if (tag === 40) incarnation = reader.number();
    else reader.skip(tag);
  }
  return { protocolVersion, serverId, sessionId, leaseMs, incarnation };
}

function writeRenewed(writer: WireWriter, renewed: ChannelRenewed): void {
  writer.number(8, renewed.number);
  writer.number(16, renewed.leaseMs);
  if (renewed.error !== undefined) nested(writer, 26, renewed.error, writeErrorStatus);
}

function readRenewed(reader: WireReader): ChannelRenewed {
  let [number, leaseMs] = [0, 0];
  let error: WireError | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) number = reader.number();
    else if (tag === 16) leaseMs = reader.number();
    else if (tag === 26) error = reader.nested(readErrorStatus);
    else reader.skip(tag);
  }
  return { number, leaseMs, error };
}

function writePage(writer: WireWriter, page: ChannelPage): void {
  writer.number(8, page.renewal);
  writer.numbers(18, page.held);
  writer.numbers(26, page.waiting);
  writer.bool(32, page.last);
  writer.number(40, page.lastMessage);
}

function readPage(reader: WireReader): ChannelPage {
  let [renewal, last, lastMessage] = [0, false, 0];
  const held: number[] = [];
  const waiting: number[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 8) renewal = reader.number();
    else if (tag === 18) reader.numbers(held);
    else if (tag === 26) reader.numbers(waiting);
    else if (tag === 32) last = reader.bool();
    else if (tag === 40) lastMessage = reader.number();
    else reader.skip(tag);
  }
  return { renewal, held, waiting, last, lastMessage };
}

function nested<T>(
  writer: WireWriter,
  tag: number,
  value: T,
  write: (writer: WireWriter, value: T) => void,
): void {
  const start = writer.begin(tag);
  write(writer, value);
  writer.end(start);
}

/** Written by hand: a frame carries hundreds of operations, and their codec is what a fast channel spends its time in. */
export const ClientFrame: Codec<ClientFrame> = codec(writeClientFrame, readClientFrame);
export const ServerFrame: Codec<ServerFrame> = codec(writeServerFrame, readServerFrame);
