"""Three components of Haystack: a retriever that finds, a ranker that is broken on purpose, a reader that reads."""

import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

CAPITALS = {
    **{"Italy": "Rome", "France": "Paris", "Spain": "Madrid", "Norway": "Oslo", "Japan": "Tokyo", "Peru": "Lima"},
    **{
        "Egypt": "Cairo",
        "Kenya": "Nairobi",
        "Cuba": "Havana",
        "Ghana": "Accra",
        "Greece": "Athens",
        "Chile": "Santiago",
    },
    **{
        "Poland": "Warsaw",
        "Nepal": "Kathmandu",
        "Iraq": "Baghdad",
        "Latvia": "Riga",
        "Malta": "Valletta",
        "Oman": "Muscat",
    },
    **{
        "Qatar": "Doha",
        "Serbia": "Belgrade",
        "Turkey": "Ankara",
        "Uganda": "Kampala",
        "Wales": "Cardiff",
        "Yemen": "Sanaa",
    },
}
FACTS = {
    land: f"{city}, with its old streets and its harbour or river, is the capital of {land}."
    for land, city in CAPITALS.items()
}
RUMOURS = {land: f"{land} has no capital." for land in list(CAPITALS)[::2]}


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
