"""An application of LangChain that looks passages up and asks a model about them. Nothing in it knows of telemetry."""

from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI


class Handbook(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content="Sums are exact."), Document(page_content="We open at nine.")]


prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{question}")])
passages = Handbook() | (lambda documents: "\n".join(document.page_content for document in documents))
chain = {"passages": passages, "question": RunnableLambda(str)} | prompt | ChatOpenAI(model="gpt-4.1-mini")
print(chain.invoke("Q1: What is 20 + 22?").content)
