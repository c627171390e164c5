"""Three components of Haystack: a retriever that finds, a ranker that is broken on purpose, a reader that reads."""

import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

FACTS = {
    "Italy": "Rome is the capital of Italy.",
    "France": "Paris is the capital of France.",
    "Spain": "Madrid, on the Manzanares, has been the capital of Spain since 1561.",
    "Norway": "Oslo is the capital of Norway.",
    "Japan": "Tokyo, once called Edo, has been the capital of Japan since 1868.",
    "Peru": "Lima, founded by Pizarro, is the capital and largest city of Peru.",
    "Egypt": "Cairo is the capital of Egypt.",
    "Kenya": "Nairobi, which began as a railway depot, is the capital of Kenya today.",
}
RUMOURS = {land: f"{land} has no capital." for land in ("Spain", "Japan", "Peru", "Kenya")}
ANSWERS = {land: text.replace(",", "").split()[0] for land, text in FACTS.items()}


@component
class ShortestFirst:
    """A ranker that prefers what is short, which is not what is right."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]):
        return {"documents": sorted(documents, key=lambda one: len(one.content))}


@component
class Reader:
    """Answers with the first word of the first passage."""

    @component.output_types(answer=str)
    def run(self, documents: list[Document]):
        return {"answer": documents[0].content.replace(",", "").split()[0] if documents else ""}


def build_pipeline() -> Pipeline:
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=land, content=text) for land, text in FACTS.items()])
    store.write_documents([Document(id=f"rumour {land}", content=text) for land, text in RUMOURS.items()])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    pipeline.add_component("ranker", ShortestFirst())
    pipeline.add_component("reader", Reader())
    pipeline.connect("retriever.documents", "ranker.documents")
    pipeline.connect("ranker.documents", "reader.documents")
    return pipeline
