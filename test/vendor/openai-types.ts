import type OpenAI from 'openai';
import type OpenAI7 from 'openai-7';

/** What the vendor says an answer is, in the types that it publishes with each major of its client; `schemas.ts` makes schemas of it. */
export interface VendorTypes {
  readonly '6': {
    Response: OpenAI.Responses.Response;
    ResponseStreamEvent: OpenAI.Responses.ResponseStreamEvent;
    ResponseItemList: OpenAI.Responses.ResponseItemList;
    CompactedResponse: OpenAI.Responses.CompactedResponse;
    Conversation: OpenAI.Conversations.Conversation;
    ConversationDeleted: OpenAI.Conversations.ConversationDeletedResource;
    ConversationItem: OpenAI.Conversations.ConversationItem;
    ConversationItemList: OpenAI.Conversations.ConversationItemList;
    Container: OpenAI.ContainerRetrieveResponse;
    ContainerFile: OpenAI.Containers.FileRetrieveResponse;
    File: OpenAI.FileObject;
    FileDeleted: OpenAI.FileDeleted;
    Assistant: OpenAI.Beta.Assistant;
    Thread: OpenAI.Beta.Thread;
    Message: OpenAI.Beta.Threads.Message;
    Run: OpenAI.Beta.Threads.Run;
    RunStep: OpenAI.Beta.Threads.Runs.RunStep;
    AssistantStreamEvent: OpenAI.Beta.AssistantStreamEvent;
    VectorStore: OpenAI.VectorStore;
    VectorStoreDeleted: OpenAI.VectorStoreDeleted;
    VectorStoreFile: OpenAI.VectorStores.VectorStoreFile;
    VectorStoreFileBatch: OpenAI.VectorStores.VectorStoreFileBatch;
    VectorStoreSearchResult: OpenAI.VectorStoreSearchResponse;
    ChatCompletion: OpenAI.ChatCompletion;
    ChatCompletionChunk: OpenAI.ChatCompletionChunk;
    ErrorObject: OpenAI.ErrorObject;
    AssistantDeleted: OpenAI.Beta.AssistantDeleted;
    ThreadDeleted: OpenAI.Beta.ThreadDeleted;
    MessageDeleted: OpenAI.Beta.Threads.MessageDeleted;
    VectorStoreFileContent: OpenAI.VectorStores.FileContentResponse;
    VectorStoreFileDeleted: OpenAI.VectorStores.VectorStoreFileDeleted;
  };
  readonly '7': {
    Response: OpenAI7.Responses.Response;
    ResponseStreamEvent: OpenAI7.Responses.ResponseStreamEvent;
    ResponseItemList: OpenAI7.Responses.ResponseItemList;
    CompactedResponse: OpenAI7.Responses.CompactedResponse;
    Conversation: OpenAI7.Conversations.Conversation;
    ConversationDeleted: OpenAI7.Conversations.ConversationDeletedResource;
    ConversationItem: OpenAI7.Conversations.ConversationItem;
    ConversationItemList: OpenAI7.Conversations.ConversationItemList;
    Container: OpenAI7.ContainerRetrieveResponse;
    ContainerFile: OpenAI7.Containers.FileRetrieveResponse;
    File: OpenAI7.FileObject;
    FileDeleted: OpenAI7.FileDeleted;
    Assistant: OpenAI7.Beta.Assistant;
    Thread: OpenAI7.Beta.Thread;
    Message: OpenAI7.Beta.Threads.Message;
    Run: OpenAI7.Beta.Threads.Run;
    RunStep: OpenAI7.Beta.Threads.Runs.RunStep;
    AssistantStreamEvent: OpenAI7.Beta.AssistantStreamEvent;
    VectorStore: OpenAI7.VectorStore;
    VectorStoreDeleted: OpenAI7.VectorStoreDeleted;
    VectorStoreFile: OpenAI7.VectorStores.VectorStoreFile;
    VectorStoreFileBatch: OpenAI7.VectorStores.VectorStoreFileBatch;
    VectorStoreSearchResult: OpenAI7.VectorStoreSearchResponse;
    ChatCompletion: OpenAI7.ChatCompletion;
    ChatCompletionChunk: OpenAI7.ChatCompletionChunk;
    ErrorObject: OpenAI7.ErrorObject;
    AssistantDeleted: OpenAI7.Beta.AssistantDeleted;
    ThreadDeleted: OpenAI7.Beta.ThreadDeleted;
    MessageDeleted: OpenAI7.Beta.Threads.MessageDeleted;
    VectorStoreFileContent: OpenAI7.VectorStores.FileContentResponse;
    VectorStoreFileDeleted: OpenAI7.VectorStores.VectorStoreFileDeleted;
  };
}

export type Major = keyof VendorTypes;
export type VendorType = keyof VendorTypes['6'];
