import type { OutgoingTrace } from '../../core/call-log.ts';
import type { Principal } from '../../core/principal.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import type { Proven } from '../../guardrails/proof.ts';
import type { SentHeaders } from '../../http/headers.ts';

/** Who asks for a tool, and until when. */
export interface HostedCaller {
  readonly who: Principal;
  /** Of work that goes on without them: the same as they are now, with the limits and rights of now. Throws when they are gone. */
  readonly whoNow?: () => Promise<Principal>;
  /** The response that the tool is used for. */
  readonly responseId: string;
  readonly headers: SentHeaders;
  readonly proven?: Proven;
  readonly signal: AbortSignal;
  /** The call is made by the gateway without its caller, and may be made again. */
  readonly isWork: boolean;
  /** Under which all that is done for the call stands in the log. */
  readonly traceId?: string;
  /** Of which span they are a part, where calls are traced. */
  readonly trace?: OutgoingTrace | null;
  /** The caller wants the gateway's tool, whatever the provider has; or the provider has none. */
  readonly isWanted: boolean;
  /** The gateway keeps the conversation, or runs other tools of the request. */
  readonly isKept: boolean;
  /** The items that were said before, and those of the request. Read when it is first called. */
  readonly said: () => Promise<readonly unknown[]>;
}

/** A kind of tool that the gateway runs for any model. Areas offer them; a call of the Responses API asks for them. */
export interface HostedTool {
  /** It runs wherever the provider has no such tool, although the request names nothing of the gateway's. */
  readonly standsIn?: true;
  /** Whether it would run for this caller. Only of one that providers leave out where they do not have it, rather than refuse. */
  isOn?(who: Principal): Promise<boolean>;
  /** One that a request names. Null: it is the provider's affair. Throws when it cannot be used as it is asked for. */
  open(tool: JsonObject, at: string, caller: HostedCaller): Promise<OpenTool | null>;
}

export interface OpenTool {
  readonly functions: readonly HostedFunction[];
  /** What the client is told before the model is asked. */
  readonly before?: Shown;
  /** What the model may link to from the beginning. */
  readonly links?: readonly Link[];
  /** Called once, when the response is over or comes to nothing. */
  readonly close?: () => Promise<void>;
}

/** What the model sees of a tool. */
export interface HostedFunction {
  readonly name: string;
  /** The type of the item that a call becomes. */
  readonly item: string;
  readonly description: string;
  /** JSON Schema. */
  readonly parameters: JsonObject;
  /** Whether a `tool_choice` that names no function means this one. */
  readonly isChosenBy: (choice: JsonObject) => boolean;
  /** The item by which a person is asked first. Null: it runs. */
  asks?(call: HostedCall): JsonObject | null;
  begins(call: HostedCall): Shown;
  /** A call that fails is an output that says so; what is thrown ends the response. */
  runs(call: HostedCall): Promise<Ran>;
  /** What is said of a call that was begun by a process that died. Left out: it may be made again, and comes to the same. */
  interrupted?(call: HostedCall): Ran;
}

export interface HostedCall {
  /** The id of its item. */
  readonly id: string;
  /** As the model wrote them: not necessarily JSON. */
  readonly arguments: string;
  /** Which call of this response it is, from 0. */
  readonly ordinal: number;
  /** By which it was allowed. */
  readonly approvalId?: string;
  /** Tells the client an event of the call while it runs, without its place. */
  readonly tell?: (event: JsonObject) => void;
}

/** An item of the response, and the events beside those of every item, without their place. */
export interface Shown {
  readonly item: JsonObject;
  readonly events: readonly JsonObject[];
}

export interface Ran extends Shown {
  /** What the model gets to read. */
  readonly output: string;
  /** What of it the model may cite, by its marker. */
  readonly citables?: readonly Citable[];
  /** What it may link to from here on. */
  readonly links?: readonly Link[];
}

/** A text that stands for something, stays where it is, and gets an annotation with its place. */
export interface Link {
  readonly text: string;
  readonly annotation: JsonObject;
}

export interface Citable {
  readonly marker: string;
  readonly file_id: string;
  readonly filename: string;
}
